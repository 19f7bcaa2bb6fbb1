#include "libtrain/launch/rank_process.h"

#include <csignal>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <string>
#include <sys/prctl.h>
#include <unistd.h>
#include <vector>

namespace titan::train {
namespace {

constexpr const char* kGuard = "TITAN_THREAD_ENV_SET";

std::vector<std::string> own_arguments() {
  std::ifstream file("/proc/self/cmdline", std::ios::binary);
  const std::string text{std::istreambuf_iterator<char>(file), {}};
  std::vector<std::string> arguments;
  for (std::size_t begin = 0; begin < text.size();) {
    const std::size_t end = text.find('\0', begin);
    arguments.push_back(text.substr(begin, end - begin));
    begin = end == std::string::npos ? text.size() : end + 1;
  }
  return arguments;
}

bool is_set(const char* name, const std::string& value) {
  const char* found = std::getenv(name);
  return found && value == found;
}

}  // namespace

ckpt::Status bind_to_launcher() {
  const char* launcher = std::getenv("TITAN_LAUNCHER_PID");
  if (!launcher) {
    // Not in general: a rank that a shell started in the background shall outlive the shell.
    if (std::getenv("TORCHELASTIC_RUN_ID")) prctl(PR_SET_PDEATHSIG, SIGTERM);
    return ckpt::ok_status();
  }
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  // The launcher may have died before the line above took effect; the rank then has another parent.
  if (std::to_string(getppid()) == launcher) return ckpt::ok_status();
  return ckpt::failed("the launcher of this rank, process " + std::string(launcher) + ", is gone").with_hint("start the run again");
}

int threads_of_restart() {
  const char* guard = std::getenv(kGuard);
  return guard ? std::atoi(guard) : 0;
}

void ensure_thread_env(int threads) {
  const std::string count = std::to_string(threads);
  const bool right = is_set("OMP_NUM_THREADS", count) && is_set("MKL_NUM_THREADS", count) && std::getenv("MKL_CBWR");
  if (right || std::getenv(kGuard)) {
    unsetenv(kGuard);
    return;
  }
  setenv("OMP_NUM_THREADS", count.c_str(), 1);
  setenv("MKL_NUM_THREADS", count.c_str(), 1);
  setenv("MKL_CBWR", "AUTO", 0);
  setenv(kGuard, count.c_str(), 1);
  std::vector<std::string> arguments = own_arguments();
  std::vector<char*> argv;
  for (std::string& argument : arguments) argv.push_back(argument.data());
  argv.push_back(nullptr);
  execv("/proc/self/exe", argv.data());
  // Out of memory at worst: the run goes on with the threads it has.
  unsetenv(kGuard);
}

}  // namespace titan::train
