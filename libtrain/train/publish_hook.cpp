#include "libtrain/train/publish_hook.h"

#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <system_error>
#include <utility>
#include <vector>

namespace titan::train {
namespace {

using namespace std::chrono_literals;

constexpr auto kLook = 20ms;     // at a command that runs
constexpr auto kLastWords = 2s;  // between SIGTERM and SIGKILL

/// This process's environment with `more`.
std::vector<std::string> environment_with(const std::vector<std::string>& more) {
  std::vector<std::string> all = more;
  for (char** entry = environ; *entry != nullptr; ++entry)
    if (std::strncmp(*entry, "TITAN_STEP=", 11) != 0 && std::strncmp(*entry, "TITAN_CHECKPOINT=", 17) != 0)
      all.emplace_back(*entry);
  return all;
}

std::vector<char*> pointers(std::vector<std::string>& texts) {
  std::vector<char*> list;
  for (std::string& text : texts) list.push_back(text.data());
  list.push_back(nullptr);
  return list;
}

/// Starts the command in a process group of its own, with default signals and none of our files. Returns an errno.
int start(const std::string& command, const std::string& output, std::vector<std::string> environment, pid_t& pid) {
  posix_spawn_file_actions_t files;
  posix_spawnattr_t how;
  posix_spawn_file_actions_init(&files);
  posix_spawnattr_init(&how);
  posix_spawn_file_actions_addopen(&files, 0, "/dev/null", O_RDONLY, 0);
  posix_spawn_file_actions_addopen(&files, 1, output.c_str(), O_WRONLY | O_CREAT | O_APPEND, 0666);
  posix_spawn_file_actions_adddup2(&files, 1, 2);
  posix_spawn_file_actions_addclosefrom_np(&files, 3);
  sigset_t all, none;
  sigfillset(&all);
  sigemptyset(&none);
  posix_spawnattr_setsigdefault(&how, &all);
  posix_spawnattr_setsigmask(&how, &none);
  posix_spawnattr_setpgroup(&how, 0);
  posix_spawnattr_setflags(&how, POSIX_SPAWN_SETPGROUP | POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETSIGMASK);
  std::vector<std::string> words{"/bin/sh", "-c", command};
  const int error = posix_spawn(&pid, "/bin/sh", &files, &how, pointers(words).data(), pointers(environment).data());
  posix_spawnattr_destroy(&how);
  posix_spawn_file_actions_destroy(&files);
  return error;
}

bool ended(pid_t pid, int& status) {
  const pid_t found = waitpid(pid, &status, WNOHANG);
  return found == pid || (found < 0 && errno != EINTR);
}

}  // namespace

PublishHook::PublishHook(Options options) : options_(std::move(options)) {}

PublishHook::~PublishHook() { finish(0); }

void PublishHook::published(std::uint64_t step, const std::string& path) {
  const ckpt::MutexLock lock(mutex_);
  queue_.push_back({step, path});
  changed_.notify_all();
  if (thread_.joinable()) return;
  try {
    thread_ = std::thread([this] { work(); });
  } catch (const std::system_error& error) {
    queue_.pop_back();
    options_.problem(std::string("no thread for checkpoint.on_publish: ") + error.what());
  }
}

void PublishHook::finish(double seconds) {
  if (!thread_.joinable()) return;
  const auto deadline =
      Clock::now() + std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(seconds));
  {
    ckpt::MutexLock lock(mutex_);
    while ((busy_ || !queue_.empty()) && Clock::now() < deadline) changed_.wait_until(lock, deadline);
    stopping_ = true;
    changed_.notify_all();
  }
  thread_.join();
}

void PublishHook::work() {
  ckpt::MutexLock lock(mutex_);
  while (true) {
    while (queue_.empty() && !stopping_) changed_.wait(lock);
    if (stopping_) break;
    const Publish one = std::move(queue_.front());
    queue_.pop_front();
    busy_ = true;
    lock.unlock();
    run(one);
    lock.lock();
    busy_ = false;
    changed_.notify_all();
  }
  for (const Publish& one : queue_)
    options_.problem("checkpoint.on_publish did not run for step " + std::to_string(one.step) + ": the run has ended");
}

bool PublishHook::over(Clock::time_point deadline) {
  const ckpt::MutexLock lock(mutex_);
  return stopping_ || Clock::now() >= deadline;
}

void PublishHook::run(const Publish& one) {
  const std::string what = "checkpoint.on_publish for step " + std::to_string(one.step);
  pid_t pid = 0;
  const int error =
      start(options_.command, options_.output,
            environment_with({"TITAN_STEP=" + std::to_string(one.step), "TITAN_CHECKPOINT=" + one.path}), pid);
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
        (Clock::now() >= deadline ? "it took longer than checkpoint.on_publish_timeout_seconds" : "the run has ended"));
  }
  if (WIFEXITED(status) && WEXITSTATUS(status) == 0) return;
  options_.problem(what + " failed: " +
                   (WIFSIGNALED(status) ? "signal " + std::to_string(WTERMSIG(status))
                                        : "exit code " + std::to_string(WEXITSTATUS(status))) +
                   " (its output: " + options_.output + ")");
}

}  // namespace titan::train
