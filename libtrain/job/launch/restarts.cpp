#include "libtrain/job/launch/restarts.h"

#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <ctime>

#include "ckpt/base/exit_code.h"
#include "libtrain/job/launch/c_list.h"
#include "libtrain/job/launch/signals.h"

namespace titan::train {
namespace {

using Clock = std::chrono::steady_clock;

constexpr unsigned kMostBarren = 3;  // a job that failed three times after the same step will probably fail there again

class Restarter {
 public:
  explicit Restarter(const RestartOptions& options) : options_(options), stops_(stop_signals()) {
    sigemptyset(&signals_);
    sigaddset(&signals_, SIGCHLD);
    for (const int signal : stops_) sigaddset(&signals_, signal);
    std::signal(SIGCHLD, SIG_DFL);
    pthread_sigmask(SIG_BLOCK, &signals_, &old_mask_);
  }
  ~Restarter() { pthread_sigmask(SIG_SETMASK, &old_mask_, nullptr); }
  Restarter(const Restarter&) = delete;
  Restarter& operator=(const Restarter&) = delete;

  int run() {
    std::optional<std::uint64_t> began = options_.newest();
    unsigned barren = 0;  // consecutive starts that made no newer step
    for (unsigned restart = 0;; ++restart) {
      const int code = run_once(restart);
      if (code != ckpt::kExitFailed || stopped_ != 0) return code;
      const std::optional<std::uint64_t> newest = options_.newest();
      const std::string place = newest ? "step " + std::to_string(*newest) : "the beginning";
      barren = newest.value_or(0) > began.value_or(0) ? 0 : barren + 1;
      began = newest;
      if (restart == options_.most) return give_up(code, "the " + std::to_string(restart) + " restarts are used up");
      if (barren == kMostBarren)
        return give_up(code, "no step newer than " + place + " came in " + std::to_string(barren) + " starts");
      const std::chrono::milliseconds wait =
          barren == 0 ? 0 * options_.first_wait : options_.first_wait * (1 << (barren - 1));
      const std::string when = wait.count() == 0 ? "now" : "in " + std::to_string(wait.count() / 1000) + " s";
      options_.say("restart " + std::to_string(restart + 1) + " of " + std::to_string(options_.most) + " from " +
                   place + " " + when);
      if (const int signal = stop_within(wait); signal != 0)
        return signal == SIGINT ? ckpt::kExitInterrupted : ckpt::kExitTerminated;
    }
  }

 private:
  int give_up(int code, const std::string& why) {
    options_.say("not restarted: " + why);
    return code;
  }

  int run_once(unsigned restart) {
    std::vector<std::string> words = options_.words(restart);
    const std::vector<char*> argv = c_list(words);
    const pid_t self = getpid(), pid = fork();
    if (pid == 0) become(argv.data(), self);
    if (pid < 0) return ckpt::kExitFailed;
    setpgid(pid, pid);
    for (;;) {
      int status = 0;
      const pid_t found = waitpid(pid, &status, WNOHANG);
      if (found == pid) return WIFEXITED(status) ? WEXITSTATUS(status) : ckpt::kExitFailed;
      if (found < 0 && errno != EINTR) return ckpt::kExitFailed;
      const int signal = std::max(0, sigwaitinfo(&signals_, nullptr));
      if (signal == 0 || signal == SIGCHLD) continue;
      stopped_ = signal;
      kill(pid, signal);
    }
  }

  /// Runs after fork: system calls only.
  [[noreturn]] void become(char* const* words, pid_t parent) {
    setpgid(0, 0);
    prctl(PR_SET_PDEATHSIG, SIGTERM);
    if (getppid() != parent) _exit(ckpt::kExitFailed);
    for (const int signal : stops_) std::signal(signal, SIG_DFL);
    pthread_sigmask(SIG_SETMASK, &old_mask_, nullptr);
    execv(options_.program.c_str(), words);
    _exit(127);
  }

  /// The stop signal that arrived within `wait`; 0 if none did.
  int stop_within(std::chrono::milliseconds wait) {
    for (const Clock::time_point end = Clock::now() + wait;;) {
      const auto left =
          std::max(std::chrono::nanoseconds{0}, std::chrono::nanoseconds(end - Clock::now()));  // 0: what is pending
      const timespec limit{static_cast<time_t>(left.count() / 1'000'000'000),
                           static_cast<long>(left.count() % 1'000'000'000)};
      const int signal = std::max(0, sigtimedwait(&signals_, nullptr, &limit));
      if (signal != 0 && signal != SIGCHLD) return signal;
      if (signal == 0 && Clock::now() >= end) return 0;
    }
  }

  const RestartOptions& options_;
  std::vector<int> stops_;
  sigset_t signals_, old_mask_;
  int stopped_ = 0;
};

}  // namespace

int run_with_restarts(const RestartOptions& options) { return Restarter(options).run(); }

}  // namespace titan::train
