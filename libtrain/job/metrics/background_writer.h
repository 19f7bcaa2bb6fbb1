#pragma once
// Writes a run's records (metrics lines, TensorBoard points, logs) in a background thread. If the store refuses or
// hangs, only sync() and the destructor wait for it, for a limited time.
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "ckpt/base/status.h"

namespace titan::train {

/// Jobs run in the order in which they were added. A job that fails is repeated until it succeeds, and the jobs after
/// it wait. Thread-safe.
class BackgroundWriter {
 public:
  using Job = std::function<ckpt::Status()>;

  struct Options {
    std::string what;              ///< what is written, for messages
    std::size_t limit = 64 << 20;  ///< bytes of queued jobs; beyond it the oldest jobs that may be dropped are dropped
    std::chrono::milliseconds again{1'000};            ///< from a failure of a job to its next try
    std::function<void(const std::string& line)> say;  ///< gets a message when failures start and end, in the writer's
                                                       ///< thread
  };
  /// Whether a job may be dropped if the queue exceeds `limit`.
  enum class Keep { kAlways, kWhileThereIsRoom };

  explicit BackgroundWriter(Options options);
  /// Waits up to 2 s for queued jobs, but not after a job has failed. Drops the rest.
  ~BackgroundWriter();
  BackgroundWriter(const BackgroundWriter&) = delete;
  BackgroundWriter& operator=(const BackgroundWriter&) = delete;

  /// Returns at once. `job` must own its data, since it may outlive this object.
  void add(Keep keep, std::size_t bytes, Job job);
  /// Runs `job` after all queued jobs and waits for it. After an error, `job` does not run any more, unless it is
  /// running already. \error the error of `job`, or of an earlier job that failed during the wait; ETIMEDOUT: not
  /// done within `timeout`
  ckpt::Status sync(Job job, std::chrono::milliseconds timeout);

 private:
  struct State;
  std::shared_ptr<State> state_;  ///< shared with the thread, which may hang in the store forever
};

}  // namespace titan::train
