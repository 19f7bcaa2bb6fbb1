#include "libtrain/job/launch/launcher.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>
#include <algorithm>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "ckpt/base/exit_code.h"
#include "ckpt/base/random_id.h"
#include "ckpt/base/text.h"
#include "libtrain/job/launch/c_list.h"
#include "libtrain/job/launch/process_state.h"
#include "libtrain/job/launch/signals.h"

namespace titan::train {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::chrono::milliseconds kTogether{250};  // ranks that are killed within this time are named in one line
// The line waits no longer than this for ranks that the kernel is ending: the memory of a GPU takes seconds to free.
constexpr std::chrono::seconds kLongestEnd{5};

struct Rank {
  pid_t pid = -1;
  std::optional<int> status;  // waitpid's status, once the rank has ended
  bool ended_by_us = false;
};

/// A listening socket on 127.0.0.1, inherited by rank 0, so that no other process can take the port in between.
struct Rendezvous {
  int fd = -1;
  int port = 0;
  ~Rendezvous() { close(); }
  void close() {
    if (fd >= 0) ::close(fd);
    fd = -1;
  }
  bool open() {
    fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t length = sizeof address;
    auto* generic = reinterpret_cast<sockaddr*>(&address);
    // The socket already listens, so ranks can connect before rank 0 is ready.
    if (fd < 0 || bind(fd, generic, length) != 0 || listen(fd, SOMAXCONN) != 0) return false;
    if (getsockname(fd, generic, &length) != 0) return false;
    port = ntohs(address.sin_port);
    return true;
  }
};

std::string signal_text(int signal) {
  const char* name = sigabbrev_np(signal);
  return "signal " + std::to_string(signal) + (name ? " (SIG" + std::string(name) + ")" : "");
}

/// Whether a waitpid status is a success.
bool is_well(int status) { return WIFEXITED(status) && ckpt::ended_well(WEXITSTATUS(status)); }

/// The pipe through which ranks report to the launcher (rank_process.h). No rank closes it, so each can always write.
class ReportPipe {
 public:
  ~ReportPipe() {
    for (const int fd : ends_)
      if (fd >= 0) ::close(fd);
  }
  bool open() { return pipe2(ends_, O_CLOEXEC | O_NONBLOCK) == 0; }
  int writing_end() const { return ends_[1]; }
  /// Reads what ranks have written so far.
  void read_all() {
    char bytes[4096];
    for (ssize_t count; (count = ::read(ends_[0], bytes, sizeof bytes)) > 0;)
      text_.append(bytes, static_cast<std::size_t>(count));
  }
  RankReports reports() const { return decode_reports(text_); }

 private:
  int ends_[2] = {-1, -1};
  std::string text_;
};

// The ranks of one start, from fork to exit code: what each reported, how each ended, and the signals sent to them. It
// has many members because the exit code and the message depend on all that happened before: the first failure, kills,
// ranks that are stopped, signals, reports. The deadlines depend on the same events.
class Job {
 public:
  Job(const LaunchOptions& options, const LaunchEvents& events)
      : options_(options), events_(events), memory_kills_(memory_kills()) {
    sigemptyset(&signals_);
    sigaddset(&signals_, SIGCHLD);
    for (int signal : stop_signals()) sigaddset(&signals_, signal);
    std::signal(SIGCHLD, SIG_DFL);  // an inherited SIG_IGN would make the kernel reap the ranks
    pthread_sigmask(SIG_BLOCK, &signals_, &old_mask_);
  }
  ~Job() {
    kill_all();
    for (Rank& rank : ranks_) {
      if (!rank.status) waitpid(rank.pid, nullptr, 0);
    }
    // All ranks have ended: a pending or late stop signal must not kill this process before it returns their exit code.
    for (int signal : stop_signals()) std::signal(signal, SIG_IGN);
    pthread_sigmask(SIG_SETMASK, &old_mask_, nullptr);
  }

  int run() {
    if (!start()) return ckpt::kExitFailed;
    while (running() > 0) {
      const int signal = next_signal();
      if (signal != 0 && signal != SIGCHLD) stop(signal);
      reap();
      if (say_killed_at_ && Clock::now() >= *say_killed_at_) {
        if (Clock::now() < say_killed_by_ && any_ending())
          say_killed_at_ = Clock::now() + kTogether;
        else
          say_killed();
      }
      if (first_failed_ && deadline_ && only_stopped_left()) deadline_ = Clock::now();
      if (deadline_ && Clock::now() >= *deadline_) {
        note_overdue();
        kill_all();
        deadline_.reset();
      }
    }
    say_killed();
    reports_.read_all();
    return interrupts_ >= 2 ? verdict_of_abort() : verdict();
  }

 private:
  using Environment = std::map<std::string, std::string>;

  bool start() {
    Rendezvous rendezvous;
    if (!rendezvous.open()) {
      report(std::string("no listening socket on 127.0.0.1 for the ranks: ") + std::strerror(errno), "");
      return false;
    }
    if (!reports_.open()) {
      report(std::string("no pipe for the ranks: ") + std::strerror(errno), "");
      return false;
    }
    Environment environment;
    for (char** entry = environ; *entry; ++entry) {
      const std::string text = *entry;
      const std::size_t equals = text.find('=');
      if (equals != std::string::npos) environment[text.substr(0, equals)] = text.substr(equals + 1);
    }
    const std::string count = std::to_string(options_.nproc), threads = std::to_string(options_.threads_per_rank);
    environment["WORLD_SIZE"] = environment["LOCAL_WORLD_SIZE"] = count;
    environment["MASTER_ADDR"] = "127.0.0.1";
    environment["MASTER_PORT"] = std::to_string(rendezvous.port);
    environment["TITAN_LAUNCHER_PID"] = std::to_string(getpid());
    environment["TITAN_RUN_ID"] = ckpt::random_id();
    environment["TITAN_THREADS_PER_RANK"] = threads;
    environment[kReportFd] = std::to_string(reports_.writing_end());
    const auto typed = [&environment](const char* name) {
      const auto found = environment.find(name);
      return found == environment.end() ? std::nullopt : std::optional<std::string>(found->second);
    };
    for (const auto& [name, value] : thread_variables(options_.threads_per_rank, typed)) environment[name] = value;
    for (int rank = 0; rank < options_.nproc; ++rank) {
      environment["RANK"] = environment["LOCAL_RANK"] = std::to_string(rank);
      environment.erase("TITAN_MASTER_FD");
      if (rank == 0) environment["TITAN_MASTER_FD"] = std::to_string(rendezvous.fd);
      const pid_t pid = spawn(environment, rank == 0 ? rendezvous.fd : -1);
      if (pid < 0) {
        report("rank " + std::to_string(rank) + " could not be started: " + std::strerror(errno), "");
        return false;
      }
      ranks_.push_back({pid});
      if (events_.started) events_.started(rank, pid);
    }
    return true;
  }

  pid_t spawn(const Environment& environment, int inherited_fd) {
    // Everything that allocates happens before fork.
    std::vector<std::string> entries;
    for (const auto& [name, value] : environment) entries.push_back(name + "=" + value);
    std::vector<std::string> words = options_.argv;
    const std::vector<char*> envp = c_list(entries), argv = c_list(words);
    const pid_t launcher = getpid();
    const std::vector<int> stops = stop_signals();
    const pid_t pid = fork();
    if (pid != 0) {
      if (pid > 0) setpgid(pid, pid);
      return pid;
    }
    setpgid(0, 0);
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != launcher) _exit(ckpt::kExitFailed);
    if (const int null = open("/dev/null", O_RDONLY | O_CLOEXEC); null >= 0) dup2(null, STDIN_FILENO);
    if (inherited_fd >= 0) fcntl(inherited_fd, F_SETFD, 0);
    fcntl(reports_.writing_end(), F_SETFD, 0);
    // The launcher's handlers would print messages in each rank.
    for (const int signal : stops)
      if (std::signal(signal, SIG_DFL) == SIG_IGN) std::signal(signal, SIG_IGN);
    pthread_sigmask(SIG_SETMASK, &old_mask_, nullptr);
    execve(options_.program.c_str(), argv.data(), envp.data());
    _exit(127);
  }

  /// The next pending signal, or 0 when the deadline passed.
  int next_signal() {
    if (!deadline_ && !say_killed_at_) return std::max(0, sigwaitinfo(&signals_, nullptr));
    const Clock::time_point until =
        std::min(deadline_.value_or(Clock::time_point::max()), say_killed_at_.value_or(Clock::time_point::max()));
    const auto left = std::max(std::chrono::nanoseconds(0), std::chrono::nanoseconds(until - Clock::now()));
    const timespec wait{static_cast<time_t>(left.count() / 1'000'000'000),
                        static_cast<long>(left.count() % 1'000'000'000)};
    return std::max(0, sigtimedwait(&signals_, nullptr, &wait));
  }

  void stop(int signal) {
    if (signal == SIGINT && ++interrupts_ > 1) {
      // Rank 0 may print a line before it ends. Ranks that do not end are killed; a third Ctrl-C kills at once.
      if (interrupts_ == 2) forward(SIGINT);
      deadline_ = interrupts_ == 2 ? Clock::now() + options_.abort_grace : Clock::now();
      return;
    }
    if (forwarded_ != 0 && signal != SIGINT) return;
    forward(signal);
    if (forwarded_ == 0 && events_.stopping) events_.stopping(signal);
    if (forwarded_ == 0) forwarded_ = signal;
  }

  void forward(int signal) {
    for (const Rank& rank : ranks_) {
      if (!rank.status) kill(rank.pid, signal);
    }
  }

  void reap() {
    reports_.read_all();  // a full pipe would block no rank, but lose reports
    for (std::size_t i = 0; i < ranks_.size(); ++i) {
      Rank& rank = ranks_[i];
      siginfo_t gone{};
      if (rank.status || waitid(P_PID, rank.pid, &gone, WEXITED | WNOHANG | WNOWAIT) != 0 || gone.si_pid == 0) continue;
      // Kills children of the rank, which would outlive it. Until the rank is reaped, no other process group can have
      // its number.
      kill(-rank.pid, SIGKILL);
      int status = 0;
      waitpid(rank.pid, &status, 0);
      rank.status = status;
      const bool well = is_well(status);
      if (!well && !rank.ended_by_us && interrupts_ < 2) note_failure(static_cast<int>(i), status);
      if (well && !first_well_) first_well_ = Clock::now();
    }
    if (first_well_ && !first_failed_ && interrupts_ < 2) deadline_ = *first_well_ + patience();
  }

  void note_failure(int rank, int status) {
    if (!first_failed_) {
      first_failed_ = rank;
      deadline_ = Clock::now() + options_.failure_grace;
      // A stopped rank makes the others time out: it is the cause.
      for (std::size_t i = 0; i < ranks_.size() && WIFEXITED(status) && !stopped_; ++i) {
        if (!ranks_[i].status && is_stopped(ranks_[i].pid)) stopped_ = static_cast<int>(i);
      }
      if (stopped_) report(who(*stopped_) + " is stopped (SIGSTOP) and was silent for too long", log_hint(*stopped_));
    }
    // Reports the kill soon, since the other ranks fail a few seconds later as a consequence. Waits for kTogether,
    // since ranks that were killed together are reaped one by one.
    if (WIFSIGNALED(status) && !killed_) {
      killed_ = rank;
      say_killed_at_ = Clock::now() + kTogether;
      say_killed_by_ = Clock::now() + kLongestEnd;
    }
  }

  /// Names all ranks that were killed by the same signal as the first one.
  void say_killed() {
    if (!std::exchange(say_killed_at_, std::nullopt)) return;
    const int signal = WTERMSIG(*ranks_[*killed_].status);
    if (signal == forwarded_) return;
    std::vector<int> killed;
    for (std::size_t i = 0; i < ranks_.size(); ++i)
      if (ranks_[i].status && !ranks_[i].ended_by_us && WIFSIGNALED(*ranks_[i].status) &&
          WTERMSIG(*ranks_[i].status) == signal)
        killed.push_back(static_cast<int>(i));
    report((killed.size() == 1 ? who(killed[0]) + " was" : who(killed) + " were") + " killed by " + signal_text(signal),
           signal == SIGKILL ? sigkill_hint(memory_kills_) : log_hint(*killed_));
  }

  /// How long to wait for the remaining ranks after the first one ended successfully.
  std::chrono::milliseconds patience() const {
    return options_.success_grace +
           std::chrono::milliseconds(static_cast<std::int64_t>(reports_.reports().finishing * 1000));
  }

  void note_overdue() {
    if (first_failed_ || interrupts_ >= 2) return;
    for (std::size_t i = 0; i < ranks_.size(); ++i) {
      if (ranks_[i].status) continue;
      first_failed_ = static_cast<int>(i);
      report(who(first_failed_.value()) + " did not end within " +
                 std::to_string(std::chrono::duration_cast<std::chrono::seconds>(patience()).count()) +
                 " s after the others had",
             log_hint(first_failed_.value()));
      return;
    }
  }

  /// The exit code after a second Ctrl-C. A rank 0 that ended by itself has said what was lost.
  int verdict_of_abort() {
    if (std::ranges::all_of(ranks_, [](const Rank& rank) { return is_well(*rank.status); })) return verdict();
    const int status = *ranks_[0].status;
    if (!WIFEXITED(status) || WEXITSTATUS(status) != ckpt::kExitInterrupted)
      report("stopped by a second Ctrl-C: the steps since the newest save are lost", "");
    return ckpt::kExitInterrupted;
  }

  int verdict() {
    bool same = true, well = true;
    for (const Rank& rank : ranks_) {
      const int code = WIFEXITED(*rank.status) ? WEXITSTATUS(*rank.status) : -1;
      same = same && code >= 0 && *rank.status == *ranks_[0].status;
      well = well && is_well(*rank.status);
    }
    const int first = first_failed_.value_or(0);
    const int code = WIFEXITED(*ranks_[first].status) ? WEXITSTATUS(*ranks_[first].status) : -1;
    if (well) return same ? code : int{ckpt::kExitSaved};
    const RankReports reports = reports_.reports();
    if (killed_ && forwarded_ != 0 && WTERMSIG(*ranks_[*killed_].status) == forwarded_) {
      // The signal killed a rank that was still loading its libraries; later a rank reports that it stops.
      if (!reports.said_code)
        report(who(*killed_) + " was ended by " + signal_text(forwarded_) + " before it could save", "");
      return forwarded_ == SIGINT ? ckpt::kExitInterrupted : ckpt::kExitTerminated;
    }
    // A rank that has reported why it ends is the cause. Errors of ranks that then lose it are not reported.
    if (!reports.said_code && !reports.lost.empty()) report(reports.lost, reports.hint);
    if (same) {
      const bool stopped = code == ckpt::kExitInterrupted || code == ckpt::kExitTerminated;
      if (!reports.said_code && !stopped)
        report((ranks_.size() == 1 ? who(0) : "every rank") + " exited with code " + std::to_string(code), log_hint(0));
      return code;
    }
    if (killed_ || stopped_ || code <= 0) return ckpt::kExitFailed;
    if (!reports.said_code) report(who(first) + " exited with code " + std::to_string(code), log_hint(first));
    // The rank that is reaped first may have lost the one that is the cause.
    const int cause = reports.said_code.value_or(code);
    return ckpt::is_exit_code(cause) ? cause : int{ckpt::kExitFailed};
  }

  void report(const std::string& message, const std::string& hint) {
    if (!reported_ && events_.failed) events_.failed(message, hint);
    reported_ = true;
  }

  std::string who(int rank) const {
    return "rank " + std::to_string(rank) + " (pid " + std::to_string(ranks_[rank].pid) + ")";
  }

  std::string who(const std::vector<int>& ranks) const {
    return "ranks " + ckpt::joined(ranks, ", ", [](int rank) { return std::to_string(rank); }) + " (pids " +
           ckpt::joined(ranks, ", ", [&](int rank) { return std::to_string(ranks_[rank].pid); }) + ")";
  }

  std::string log_hint(int rank) const {
    const std::string log = options_.run_dir + "/logs/rank-" + std::to_string(rank) + ".log";
    const bool there = !options_.run_dir.empty() && std::ifstream(log).peek() != std::ifstream::traits_type::eof();
    return there ? "its log is " + log : "";
  }

  std::size_t running() const {
    return std::count_if(ranks_.begin(), ranks_.end(), [](const Rank& rank) { return !rank.status; });
  }

  /// Whether all remaining ranks are stopped (SIGSTOP), so that none of them will end by itself.
  bool only_stopped_left() const {
    return std::ranges::all_of(ranks_, [](const Rank& rank) { return rank.status || is_stopped(rank.pid); });
  }

  /// Whether a rank that was not reaped yet is about to be.
  bool any_ending() const {
    return std::ranges::any_of(ranks_, [](const Rank& rank) { return !rank.status && has_ended(rank.pid); });
  }

  void kill_all() {
    for (Rank& rank : ranks_) {
      if (rank.status) continue;
      rank.ended_by_us = true;
      kill(-rank.pid, SIGKILL);
    }
  }

  const LaunchOptions& options_;
  const LaunchEvents& events_;
  sigset_t signals_, old_mask_;
  std::vector<Rank> ranks_;
  std::optional<Clock::time_point> deadline_, say_killed_at_, first_well_;
  Clock::time_point say_killed_by_;
  std::optional<int> first_failed_, killed_, stopped_;
  int forwarded_ = 0, interrupts_ = 0;
  bool reported_ = false;
  ReportPipe reports_;
  std::optional<unsigned long long> memory_kills_;  // when the ranks started
};

}  // namespace

int launch_local(const LaunchOptions& options, const LaunchEvents& events) { return Job(options, events).run(); }

}  // namespace titan::train
