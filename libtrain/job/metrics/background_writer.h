#pragma once
// Writes a run's records (metrics lines, TensorBoard points, logs) in a background thread. Only a caller that asks for
// durability waits for a store that refuses or hangs.
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "ckpt/base/status.h"

namespace titan::train {

/// Jobs run in the order in which they were added. Each job is repeated until the store accepts it. Thread-safe.
class BackgroundWriter {
 public:
  using Job = std::function<ckpt::Status()>;

  struct Options {
    std::string what;              ///< what is written, for messages
    std::size_t limit = 64 << 20;  ///< maximum bytes of queued jobs; beyond it the oldest droppable jobs are dropped
    std::chrono::milliseconds again{1'000};            ///< from a refusal to the next attempt
    std::function<void(const std::string& line)> say;  ///< gets a message when refusals start and end, in the writer's
                                                       ///< thread
  };
  /// Whether a job may be dropped if the queue exceeds `limit`.
  enum class Keep { kAlways, kWhileThereIsRoom };

  explicit BackgroundWriter(Options options);
  /// Waits up to 2 s for queued jobs if the store accepts them, and drops the rest.
  ~BackgroundWriter();
  BackgroundWriter(const BackgroundWriter&) = delete;
  BackgroundWriter& operator=(const BackgroundWriter&) = delete;

  /// Returns at once. `job` must own its data, since it may outlive this object.
  void add(Keep keep, std::size_t bytes, Job job);
  /// Runs `job` after all queued jobs and waits for it. \error the latest error of `job` or of an earlier job;
  /// ETIMEDOUT: not done within `timeout`
  ckpt::Status sync(Job job, std::chrono::milliseconds timeout);

 private:
  struct State;
  std::shared_ptr<State> state_;  ///< shared with the thread, which may hang in the store forever
};

}  // namespace titan::train
