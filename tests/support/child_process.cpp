#include "tests/support/child_process.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>
#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdlib>

namespace titan::test {
namespace {

using Clock = std::chrono::steady_clock;
using std::chrono::milliseconds;

milliseconds left_until(Clock::time_point deadline) {
  return std::max(milliseconds(0), std::chrono::duration_cast<milliseconds>(deadline - Clock::now()));
}

/// Waits until `pid` (a child or not) has ended.
bool await_end(pid_t pid, milliseconds limit) {
  const int fd = static_cast<int>(syscall(SYS_pidfd_open, pid, 0));
  if (fd < 0) return errno == ESRCH;
  pollfd poller{fd, POLLIN, 0};
  const int ready = poll(&poller, 1, static_cast<int>(limit.count()));
  close(fd);
  return ready > 0;
}

class RoleEnvironment : public ::testing::Environment {
 public:
  std::map<std::string, int (*)()> roles;

  void SetUp() override {
    const char* name = std::getenv("TITAN_TEST_ROLE");
    if (!name) return;
    // Children of the role are not meant.
    const std::string role = name;
    unsetenv("TITAN_TEST_ROLE");
    const auto found = roles.find(role);
    const int code = found == roles.end() ? 99 : found->second();
    std::fflush(nullptr);
    std::_Exit(code);
  }
};

}  // namespace

ChildProcess::ChildProcess(const std::string& program, const std::vector<std::string>& arguments,
                           const Environment& environment) {
  std::vector<std::string> entries, texts{program};
  for (const auto& [name, value] : environment) entries.push_back(name + "=" + value);
  for (char** entry = environ; *entry; ++entry) {
    const std::string text = *entry;
    if (!environment.contains(text.substr(0, text.find('=')))) entries.push_back(text);
  }
  texts.insert(texts.end(), arguments.begin(), arguments.end());
  std::vector<char*> envp, argv;
  for (std::string& entry : entries) envp.push_back(entry.data());
  for (std::string& text : texts) argv.push_back(text.data());
  envp.push_back(nullptr);
  argv.push_back(nullptr);
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) std::abort();
  pid_ = fork();
  if (pid_ == 0) {
    setpgid(0, 0);
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    dup2(ends[1], STDOUT_FILENO);
    dup2(ends[1], STDERR_FILENO);
    execve(program.c_str(), argv.data(), envp.data());
    _exit(127);
  }
  setpgid(pid_, pid_);
  close(ends[1]);
  out_ = ends[0];
  fcntl(out_, F_SETFL, O_NONBLOCK);
}

ChildProcess::~ChildProcess() {
  if (!code_) {
    kill(-pid_, SIGKILL);
    waitpid(pid_, nullptr, 0);
  }
  close(out_);
}

void ChildProcess::signal(int number) const { kill(pid_, number); }

bool ChildProcess::read_some(milliseconds limit) {
  pollfd poller{out_, POLLIN, 0};
  if (poll(&poller, 1, static_cast<int>(limit.count())) <= 0) return false;
  char buffer[4096];
  const ssize_t count = read(out_, buffer, sizeof buffer);
  if (count <= 0) return false;
  output_.append(buffer, static_cast<std::size_t>(count));
  return true;
}

bool ChildProcess::wait_for_output(const std::string& text, milliseconds limit, int times) {
  const auto deadline = Clock::now() + limit;
  const auto seen = [&] {
    int count = 0;
    for (std::size_t at = output_.find(text); at != std::string::npos; at = output_.find(text, at + 1)) ++count;
    return count;
  };
  while (seen() < times) {
    if (!read_some(left_until(deadline))) return false;
  }
  return true;
}

std::optional<int> ChildProcess::wait(milliseconds limit) {
  if (code_) return code_;
  const auto deadline = Clock::now() + limit;
  // A full pipe would keep the child from ending. Grandchildren may hold the pipe open, so its end alone is no sign.
  while (!await_end(pid_, milliseconds(0)) && read_some(left_until(deadline))) {}
  if (!await_end(pid_, left_until(deadline))) return std::nullopt;
  int status = 0;
  waitpid(pid_, &status, 0);
  while (read_some(milliseconds(0))) {}
  code_ = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  return code_;
}

bool wait_until_gone(pid_t pid, milliseconds limit) { return await_end(pid, limit); }

TestRole::TestRole(const char* name, int (*run)()) {
  static auto* environment = new RoleEnvironment;
  static const bool registered = ::testing::AddGlobalTestEnvironment(environment) != nullptr;
  static_cast<void>(registered);
  environment->roles[name] = run;
}

std::string this_program() {
  char path[4096];
  const ssize_t length = readlink("/proc/self/exe", path, sizeof path);
  return {path, static_cast<std::size_t>(std::max<ssize_t>(length, 0))};
}

}  // namespace titan::test
