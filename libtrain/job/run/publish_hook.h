#pragma once
// checkpoint.on_publish: a command that runs after each publish, beside training.
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

/// A step that is there for others.
struct Publish {
  std::uint64_t step = 0;
  std::string path;  ///< of its folder
  ckpt::Digest id;
};

/// One command at a time, always for the newest step. Nothing that goes wrong here ends a run. A command dies with the
/// process that started it, its children too.
class PublishHook {
 public:
  struct Options {
    std::string command;  ///< of /bin/sh; TITAN_STEP and TITAN_CHECKPOINT are in its environment, this rank is not
    std::string output;   ///< file that its output is appended to
    double limit_s = 0;   ///< a command that takes longer is ended
    /// Asked by the thread right before a command runs, which it does only while its step lies there.
    std::function<ckpt::Status(const Publish&)> still_there;
    std::function<void(const std::string&)> problem;  ///< called by the thread
    std::function<void(const std::string&)> say;      ///< of a step that is passed over; called by published()
    std::function<void(const Publish&)> done;         ///< its command ended well; called by the thread
  };
  explicit PublishHook(Options options);
  /// Ends the command that is under way.
  ~PublishHook();
  PublishHook(const PublishHook&) = delete;
  PublishHook& operator=(const PublishHook&) = delete;

  /// Returns at once. A step that still waits for its command is passed over for this one.
  void published(Publish one);
  /// Whether a command is under way, or waits for its turn.
  bool busy();
  /// Whether a command works on `step`, or will: the step must stay. Thread-safe.
  bool in_use(std::uint64_t step);
  /// Waits until every command is over: two at most, each for its limit. Once `stopped` for a second at most: then the
  /// one under way is ended, and no other begins.
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
  std::optional<std::uint64_t> under_way_ TITAN_GUARDED_BY(mutex_);  ///< the step of a command
  bool stopping_ TITAN_GUARDED_BY(mutex_) = false;
  std::thread thread_;
};

}  // namespace titan::train
