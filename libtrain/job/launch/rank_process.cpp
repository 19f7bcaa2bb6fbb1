#include "libtrain/job/launch/rank_process.h"

#include <sys/prctl.h>
#include <unistd.h>
#include <algorithm>
#include <climits>
#include <csignal>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "ckpt/base/host.h"
#include "ckpt/base/text.h"
#include "libtrain/job/launch/c_list.h"

namespace titan::train {
namespace {

constexpr const char* kGuard = "TITAN_THREAD_ENV_SET";
constexpr char kBetween = '\x1f';  // message and hint of a record; a record ends with NUL

std::vector<std::string> own_arguments() {
  std::ifstream file("/proc/self/cmdline", std::ios::binary);
  const std::string text{std::istreambuf_iterator<char>(file), {}};
  std::vector<std::string> arguments = ckpt::split(text, '\0');
  arguments.pop_back();  // each ends with a NUL
  return arguments;
}

bool tell_launcher(const std::string& record) {
  const char* fd = std::getenv(kReportFd);
  const auto bytes = static_cast<ssize_t>(record.size() + 1);
  return fd && std::getenv("TITAN_LAUNCHER_PID") && ::write(std::atoi(fd), record.c_str(), record.size() + 1) == bytes;
}

}  // namespace

// A record this short needs no allocation.
void note_said_why(int code) { (void)tell_launcher("S" + std::to_string(code)); }

void note_finishing(double seconds) { (void)tell_launcher("W" + std::to_string(seconds)); }

bool leave_to_launcher(Left what, const std::string& message, const std::string& hint) {
  // A write of at most PIPE_BUF bytes is atomic among those of other ranks.
  std::string record = (what == Left::kCause ? "C" : "L") + message + kBetween + hint;
  std::ranges::replace(record, '\0', ' ');
  return tell_launcher(record.substr(0, PIPE_BUF - 1));
}

RankReports decode_reports(const std::string& bytes) {
  RankReports reports;
  bool has_cause = false;
  for (std::size_t begin = 0, end; (end = bytes.find('\0', begin)) != std::string::npos; begin = end + 1) {
    const std::string record = bytes.substr(begin, end - begin);
    if (record.starts_with("S") && !reports.said_code) reports.said_code = std::atoi(record.c_str() + 1);
    if (record.starts_with("W")) reports.finishing = std::atof(record.c_str() + 1);
    const bool cause = record.starts_with("C");
    if (cause ? has_cause : !record.starts_with("L") || !reports.lost.empty()) continue;
    has_cause = has_cause || cause;
    const std::size_t between = record.find(kBetween);
    reports.lost = record.substr(1, between - 1);
    reports.hint = between == std::string::npos ? "" : record.substr(between + 1);
  }
  return reports;
}

ckpt::Status bind_to_launcher() {
  const char* launcher = std::getenv("TITAN_LAUNCHER_PID");
  if (!launcher) {
    // Only under torchrun: a rank that a shell started in the background must outlive the shell.
    if (std::getenv("TORCHELASTIC_RUN_ID")) prctl(PR_SET_PDEATHSIG, SIGTERM);
    return ckpt::ok_status();
  }
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  // The launcher may have died before the line above took effect; the rank then has another parent.
  if (std::to_string(getppid()) == launcher) return ckpt::ok_status();
  return ckpt::failed("the launcher of this rank, process " + std::string(launcher) + ", is gone")
      .with_hint("start the run again");
}

std::map<std::string, std::string> thread_variables(int threads, const GetEnv& get) {
  const std::string count = std::to_string(threads);
  std::map<std::string, std::string> variables = {{"OMP_NUM_THREADS", count}, {"MKL_NUM_THREADS", count}};
  if (!get("MKL_CBWR")) variables["MKL_CBWR"] = "AUTO";
  return variables;
}

int threads_of_restart() {
  const char* guard = std::getenv(kGuard);
  return guard ? std::atoi(guard) : 0;
}

void ensure_thread_env(int threads) {
  const auto variables = thread_variables(threads, ckpt::environment);
  const bool right = std::ranges::all_of(
      variables, [](const auto& entry) { return ckpt::environment(entry.first.c_str()) == entry.second; });
  if (right || std::getenv(kGuard)) {
    unsetenv(kGuard);
    return;
  }
  for (const auto& [name, value] : variables) setenv(name.c_str(), value.c_str(), 1);
  setenv(kGuard, std::to_string(threads).c_str(), 1);
  std::vector<std::string> arguments = own_arguments();
  execv("/proc/self/exe", c_list(arguments).data());
  // exec failed, for example for lack of memory: the run continues with the threads that it has.
  unsetenv(kGuard);
}

}  // namespace titan::train
