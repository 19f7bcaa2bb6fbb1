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

/// Runs one command at a time, always for the newest step. Errors of commands do not end a run. A command and its
/// children die with the process that started it.
class PublishHook {
 public:
  struct Options {
    std::string command;  ///< for /bin/sh; its environment has TITAN_STEP and TITAN_CHECKPOINT, without the variables
                          ///< of this rank
    std::string output;   ///< file that its output is appended to
    double limit_s = 0;   ///< a command that takes longer is killed
    /// Called by the thread right before a command. The command runs only if the result is ok: its step still exists.
    std::function<ckpt::Status(const Publish&)> still_there;
    std::function<void(const std::string&)> problem;  ///< called by the thread
    std::function<void(const std::string&)> say;      ///< told of steps that are skipped; called by published()
    std::function<void(const Publish&)> done;         ///< its command ended with exit code 0; called by the thread
  };
  explicit PublishHook(Options options);
  /// Kills a command that is under way.
  ~PublishHook();
  PublishHook(const PublishHook&) = delete;
  PublishHook& operator=(const PublishHook&) = delete;

  /// Asks to run the command for `one`. Returns at once. A step that still waits for its command is skipped.
  void published(Publish one);
  /// Whether a command is under way, or waits for its turn.
  bool busy();
  /// Whether a command works on `step`, or will, so that the step must not be deleted. Thread-safe.
  bool in_use(std::uint64_t step);
  /// Waits until every command is over: two at most, each for its limit. Once `stopped` returns true, waits for one
  /// more second at most; then the command under way is killed, and no other begins.
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
