#pragma once
// Writes what a run records (lines of metrics, points of curves, its log) in a thread of its own: a store that refuses
// or stands still holds up nobody but who asks for durability.
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "ckpt/base/status.h"

namespace titan::train {

/// Jobs run in the order in which they came, each again until the store takes it. Thread-safe.
class LateWriter {
 public:
  using Job = std::function<ckpt::Status()>;

  struct Options {
    std::string what;                        ///< is written, for `say`
    std::size_t limit = 64 << 20;            ///< bytes that may wait; beyond them the oldest go that need not stay
    std::chrono::milliseconds again{1'000};  ///< from a refusal to the next try
    std::function<void(const std::string& line)> say;  ///< hears of refusals and their end, in the writer's thread
  };
  /// Whether a job may be dropped where all do not fit.
  enum class Keep { kAlways, kWhileThereIsRoom };

  explicit LateWriter(Options options);
  /// Waits up to 2 s for what a store that takes it has still to take, and leaves the rest.
  ~LateWriter();
  LateWriter(const LateWriter&) = delete;
  LateWriter& operator=(const LateWriter&) = delete;

  /// Returns at once. `job` owns what it needs, for it may outlive this object.
  void add(Keep keep, std::size_t bytes, Job job);
  /// Runs `job` behind all that was added, and waits for it. \error what it or one before it met when it was tried just
  /// now; ETIMEDOUT: that has not ended within `timeout`
  ckpt::Status sync(Job job, std::chrono::milliseconds timeout);

 private:
  struct State;
  std::shared_ptr<State> state_;  ///< the thread's too, which a store may never let go
};

}  // namespace titan::train
