#include "libtrain/job/run/publish_hook.h"

#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include "libtrain/job/launch/c_list.h"
#include "libtrain/job/launch/launch_env.h"

namespace titan::train {
namespace {

using namespace std::chrono_literals;

constexpr auto kLook = 20ms;     // polling interval for a running command
constexpr auto kLastWords = 1s;  // between SIGTERM and SIGKILL
constexpr auto kStopWait = 1s;   // for a running command once the run is stopping
constexpr const char* kRunEnded = "the run has ended; the next start runs the command for the newest step";

// The shell that runs this is replaced by the command. A watcher in the same process group reads from a pipe whose
// other end only this process holds: a line ends the watcher, and the end of the pipe makes it kill the group.
constexpr const char* kWatched = "{ read -r line <&3 || kill -KILL 0; } & exec 3<&-; exec /bin/sh -c \"$1\"";
constexpr int kWatch = 3;  // the watcher's end

/// This process's environment plus `more`, without the variables that make it a rank.
std::vector<std::string> environment_with(const std::vector<std::string>& more) {
  std::vector<std::string> all = more;
  for (char** entry = environ; *entry != nullptr; ++entry) {
    const std::string_view name(*entry, std::strcspn(*entry, "="));
    if (name != "TITAN_STEP" && name != "TITAN_CHECKPOINT" && !is_of_rank(name)) all.emplace_back(*entry);
  }
  return all;
}

/// Starts the command in a process group of its own, with default signals and none of our files but `watch`, the end of
/// a pipe. Returns an errno.
int start(const std::string& command, const std::string& output, std::vector<std::string> environment, int watch,
          pid_t& pid) {
  posix_spawn_file_actions_t files;
  posix_spawnattr_t how;
  posix_spawn_file_actions_init(&files);
  posix_spawnattr_init(&how);
  posix_spawn_file_actions_adddup2(&files, watch, kWatch);
  posix_spawn_file_actions_addopen(&files, 0, "/dev/null", O_RDONLY, 0);
  posix_spawn_file_actions_addopen(&files, 1, output.c_str(), O_WRONLY | O_CREAT | O_APPEND, 0666);
  posix_spawn_file_actions_adddup2(&files, 1, 2);
  posix_spawn_file_actions_addclosefrom_np(&files, kWatch + 1);
  sigset_t all, none;
  sigfillset(&all);
  sigemptyset(&none);
  posix_spawnattr_setsigdefault(&how, &all);
  posix_spawnattr_setsigmask(&how, &none);
  posix_spawnattr_setpgroup(&how, 0);
  posix_spawnattr_setflags(&how, POSIX_SPAWN_SETPGROUP | POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETSIGMASK);
  std::vector<std::string> words{"/bin/sh", "-c", kWatched, "/bin/sh", command};
  const int error = posix_spawn(&pid, "/bin/sh", &files, &how, c_list(words).data(), c_list(environment).data());
  posix_spawnattr_destroy(&how);
  posix_spawn_file_actions_destroy(&files);
  return error;
}

struct Pipe {
  int ends[2] = {-1, -1};
  bool open() { return pipe2(ends, O_CLOEXEC) == 0; }
  ~Pipe() {
    for (const int end : ends)
      if (end >= 0) ::close(end);
  }
};

bool ended(pid_t pid, int& status) {
  const pid_t found = waitpid(pid, &status, WNOHANG);
  return found == pid || (found < 0 && errno != EINTR);
}

}  // namespace

PublishHook::PublishHook(Options options) : options_(std::move(options)) {}

PublishHook::~PublishHook() { end(); }

void PublishHook::published(Publish one) {
  const ckpt::MutexLock lock(mutex_);
  if (next_)
    options_.say("checkpoint.on_publish skips step " + std::to_string(next_->step) + ": step " +
                 std::to_string(one.step) + " is newer");
  next_ = std::move(one);
  changed_.notify_all();
  if (thread_.joinable()) return;
  try {
    thread_ = std::thread([this] { work(); });
  } catch (const std::system_error& error) {
    next_.reset();
    options_.problem(std::string("no thread for checkpoint.on_publish: ") + error.what());
  }
}

bool PublishHook::busy() {
  const ckpt::MutexLock lock(mutex_);
  return under_way_ || next_;
}

bool PublishHook::in_use(std::uint64_t step) {
  const ckpt::MutexLock lock(mutex_);
  return under_way_ == step || (next_ && next_->step == step);
}

void PublishHook::finish(const std::function<bool()>& stopped) {
  if (!thread_.joinable()) return;
  {
    ckpt::MutexLock lock(mutex_);
    std::optional<Clock::time_point> deadline;
    while ((under_way_ || next_) && !(deadline && Clock::now() >= *deadline)) {
      if (!deadline && stopped()) deadline = Clock::now() + kStopWait;
      changed_.wait(lock);  // returns after at most 100 ms, so `stopped` is polled
    }
  }
  end();
}

void PublishHook::end() {
  if (!thread_.joinable()) return;
  {
    const ckpt::MutexLock lock(mutex_);
    stopping_ = true;
    changed_.notify_all();
  }
  thread_.join();
}

void PublishHook::work() {
  ckpt::MutexLock lock(mutex_);
  while (true) {
    while (!next_ && !stopping_) changed_.wait(lock);
    if (stopping_) break;
    const Publish one = *std::exchange(next_, std::nullopt);
    under_way_ = one.step;
    lock.unlock();
    run(one);
    lock.lock();
    under_way_.reset();
    changed_.notify_all();
  }
  if (next_)
    options_.problem("checkpoint.on_publish did not run for step " + std::to_string(next_->step) + ": " + kRunEnded);
}

bool PublishHook::over(Clock::time_point deadline) {
  const ckpt::MutexLock lock(mutex_);
  return stopping_ || Clock::now() >= deadline;
}

void PublishHook::run(const Publish& one) {
  const std::string what = "checkpoint.on_publish for step " + std::to_string(one.step);
  if (const ckpt::Status there = options_.still_there(one); !there.ok())
    return options_.problem(what + " did not run: " + there.message);
  pid_t pid = 0;
  Pipe watch;
  const int error =
      !watch.open()
          ? errno
          : start(options_.command, options_.output,
                  environment_with({"TITAN_STEP=" + std::to_string(one.step), "TITAN_CHECKPOINT=" + one.path}),
                  watch.ends[0], pid);
  if (error != 0) return options_.problem(what + " could not be started: " + std::strerror(error));
  const auto limit = std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(options_.limit_s));
  const auto deadline = Clock::now() + limit;
  int status = 0;
  while (!ended(pid, status)) {
    if (!over(deadline)) {
      std::this_thread::sleep_for(kLook);
      continue;
    }
    ::kill(-pid, SIGTERM);
    const auto last = Clock::now() + kLastWords;
    while (!ended(pid, status) && Clock::now() < last) std::this_thread::sleep_for(kLook);
    ::kill(-pid, SIGKILL);
    (void)waitpid(pid, &status, 0);
    return options_.problem(
        what + " was ended: " +
        (Clock::now() >= deadline ? "it took longer than checkpoint.on_publish_timeout_seconds" : kRunEnded));
  }
  (void)!::write(watch.ends[1], "\n", 1);  // ends only the watcher: the command's children may continue
  if (WIFEXITED(status) && WEXITSTATUS(status) == 0) return options_.done(one);
  options_.problem(what + " failed: " +
                   (WIFSIGNALED(status) ? "signal " + std::to_string(WTERMSIG(status))
                                        : "exit code " + std::to_string(WEXITSTATUS(status))) +
                   " (its output: " + options_.output + ")");
}

}  // namespace titan::train
