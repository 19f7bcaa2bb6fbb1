#pragma once
// Writes what a run records (metrics lines, points of curves, its log) in a separate thread. Only a caller that asks
// for durability waits for a store that refuses or hangs.
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "ckpt/base/status.h"

namespace titan::train {

/// Jobs run in the order in which they were added. Each is repeated until the store accepts it. Thread-safe.
class LateWriter {
 public:
  using Job = std::function<ckpt::Status()>;

  struct Options {
    std::string what;              ///< what is written, in messages to `say`
    std::size_t limit = 64 << 20;  ///< bytes of jobs that may wait; beyond it the oldest droppable jobs are dropped
    std::chrono::milliseconds again{1'000};            ///< from a refusal to the next try
    std::function<void(const std::string& line)> say;  ///< told of refusals and of their end, in the writer's thread
  };
  /// Whether a job may be dropped if not all fit into `limit`.
  enum class Keep { kAlways, kWhileThereIsRoom };

  explicit LateWriter(Options options);
  /// Waits up to 2 s for waiting jobs if the store accepts them, and drops the rest.
  ~LateWriter();
  LateWriter(const LateWriter&) = delete;
  LateWriter& operator=(const LateWriter&) = delete;

  /// Returns at once. `job` must own what it needs, for it may outlive this object.
  void add(Keep keep, std::size_t bytes, Job job);
  /// Runs `job` after all added jobs and waits for it. \error the error of `job`, or of an earlier job, in its latest
  /// try; ETIMEDOUT: not done within `timeout`
  ckpt::Status sync(Job job, std::chrono::milliseconds timeout);

 private:
  struct State;
  std::shared_ptr<State> state_;  ///< shared with the thread, which may hang in the store forever
};

}  // namespace titan::train
