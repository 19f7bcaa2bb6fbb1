#include "libtrain/job/replay/child_process.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstring>
#include <string_view>
#include <thread>

#include "libtrain/job/launch/c_list.h"
#include "libtrain/job/launch/launch_env.h"

namespace titan::train {
namespace {

constexpr std::chrono::milliseconds kChildLook{50};

std::vector<std::string> environment_of_child() {
  std::vector<std::string> all;
  for (char** entry = environ; *entry != nullptr; ++entry)
    if (!is_of_rank(std::string_view(*entry, std::strcspn(*entry, "=")))) all.emplace_back(*entry);
  return all;
}

/// Runs after fork: system calls only.
[[noreturn]] void become(const char* program, char* const* words, char* const* environment, int output, pid_t parent) {
  setpgid(0, 0);
  prctl(PR_SET_PDEATHSIG, SIGTERM);
  if (getppid() != parent) _exit(127);
  sigset_t none;
  sigemptyset(&none);
  for (const int number : {SIGINT, SIGTERM, SIGHUP, SIGUSR1, SIGPIPE, SIGCHLD}) signal(number, SIG_DFL);
  sigprocmask(SIG_SETMASK, &none, nullptr);
  dup2(output, STDOUT_FILENO);
  dup2(output, STDERR_FILENO);
  execve(program, words, environment);
  _exit(127);
}

}  // namespace

ckpt::Result<int> run_and_wait(const std::string& program, const std::vector<std::string>& words,
                               const std::string& output, const ckpt::CancelToken& cancel) {
  const int file = open(output.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0666);
  if (file < 0) return ckpt::failed(output + ": " + std::strerror(errno));
  std::vector<std::string> typed = words, environment = environment_of_child();
  const std::vector<char*> argv = c_list(typed), envp = c_list(environment);
  const pid_t self = getpid(), pid = fork();
  if (pid == 0) become(program.c_str(), argv.data(), envp.data(), file, self);
  const int error = errno;
  close(file);
  if (pid < 0) return ckpt::failed("cannot start " + words[0] + ": " + std::strerror(error));
  int status = 0;
  bool told = false;
  for (;;) {
    const pid_t found = waitpid(pid, &status, WNOHANG);
    if (found == pid || (found < 0 && errno != EINTR)) break;
    if (cancel.stopped() && !told) {
      kill(pid, SIGTERM);
      told = true;
    }
    std::this_thread::sleep_for(kChildLook);
  }
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

}  // namespace titan::train
