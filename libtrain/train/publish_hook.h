#pragma once
// checkpoint.on_publish: a command that runs after each publish, beside training.
#include <chrono>
#include <cstdint>
#include <deque>
#include <functional>
#include <string>
#include <thread>

#include "ckpt/base/mutex.h"

namespace titan::train {

/// One command at a time, in the order of the steps. Nothing that goes wrong here ends a run.
class PublishHook {
 public:
  struct Options {
    std::string command;  ///< of /bin/sh; TITAN_STEP and TITAN_CHECKPOINT are in its environment
    std::string output;   ///< file that its output is appended to
    double limit_s = 0;   ///< a command that takes longer is ended
    std::function<void(const std::string&)> problem;  ///< called by the thread
  };
  explicit PublishHook(Options options);
  /// finish(0)
  ~PublishHook();
  PublishHook(const PublishHook&) = delete;
  PublishHook& operator=(const PublishHook&) = delete;

  /// `path`: of the published step. Returns at once.
  void published(std::uint64_t step, const std::string& path);
  /// Waits until every command is over, `seconds` at most. Then the one under way is ended, and no other begins.
  void finish(double seconds);

 private:
  using Clock = std::chrono::steady_clock;
  struct Publish {
    std::uint64_t step = 0;
    std::string path;
  };
  void work();
  void run(const Publish& one);
  bool over(Clock::time_point deadline);

  const Options options_;
  ckpt::Mutex mutex_;
  ckpt::Condition changed_;
  std::deque<Publish> queue_ TITAN_GUARDED_BY(mutex_);
  bool busy_ TITAN_GUARDED_BY(mutex_) = false;
  bool stopping_ TITAN_GUARDED_BY(mutex_) = false;
  std::thread thread_;
};

}  // namespace titan::train
