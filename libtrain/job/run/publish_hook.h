#pragma once
// checkpoint.on_publish: a command that runs after each publish, while training continues.
#include <chrono>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <thread>

#include "ckpt/base/hash.h"
#include "ckpt/base/mutex.h"
#include "ckpt/base/status.h"

namespace titan::train {

/// A published step.
struct Publish {
  std::uint64_t step = 0;
  std::string path;  ///< of its folder
  ckpt::Digest id;
};

/// A thread runs one command at a time, always for the newest step. Errors of commands do not end a run. A command and
/// its children die with the process that started it.
class PublishHook {
 public:
  struct Options {
    std::string command;  ///< for /bin/sh, with TITAN_STEP and TITAN_CHECKPOINT in its environment, without the
                          ///< variables of a rank (RANK, ...)
    std::string output;   ///< file that its output is appended to
    double limit_s = 0;   ///< a command that takes longer is killed
    /// Called by the thread right before a command. The command runs only if the result is ok, which means that the
    /// step still exists.
    std::function<ckpt::Status(const Publish&)> still_there;
    std::function<void(const std::string&)> problem;  ///< called by the thread with an error
    std::function<void(const std::string&)> say;      ///< gets a message about each skipped step; called by published()
    std::function<void(const Publish&)> done;         ///< called by the thread after a command with exit code 0
  };
  explicit PublishHook(Options options);
  /// Kills a running command.
  ~PublishHook();
  PublishHook(const PublishHook&) = delete;
  PublishHook& operator=(const PublishHook&) = delete;

  /// Requests the command for `one`. Returns at once. An earlier step whose command has not started is skipped.
  void published(Publish one);
  /// Whether a command is running or waiting.
  bool busy();
  /// Whether a command is running or waiting for `step`, so that the step must not be deleted. Thread-safe.
  bool in_use(std::uint64_t step);
  /// Waits until all commands have ended: at most two, each up to its limit. Once `stopped` returns true, waits at most
  /// one more second; then kills the running command, and starts no other.
  void finish(const std::function<bool()>& stopped);

 private:
  using Clock = std::chrono::steady_clock;
  void end();
  void work();
  void run(const Publish& one);
  bool over(Clock::time_point deadline);

  const Options options_;
  ckpt::Mutex mutex_;
  ckpt::Condition changed_;
  std::optional<Publish> next_ TITAN_GUARDED_BY(mutex_);
  std::optional<std::uint64_t> under_way_ TITAN_GUARDED_BY(mutex_);  ///< the step whose command runs
  bool stopping_ TITAN_GUARDED_BY(mutex_) = false;
  std::thread thread_;
};

}  // namespace titan::train
