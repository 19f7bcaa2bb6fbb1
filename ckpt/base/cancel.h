#pragma once
// Cooperative cancellation. A long operation polls a token between leaves and between files. After a stop request the
// operation returns an error, and destructors remove what the operation had created, as after any other error.
#include <atomic>

#include "ckpt/base/status.h"

namespace titan::ckpt {

enum class StopReason : int { kNone = 0, kInterrupt, kTerminate, kHangUp };  ///< none; SIGINT, SIGTERM, SIGHUP

/// Records a stop request, from any thread or from a signal handler; only the first request counts. Must outlive its
/// tokens.
class CancelSource {
 public:
  /// Async-signal-safe. Returns false if a stop was requested before.
  bool request(StopReason reason) noexcept {
    StopReason none = StopReason::kNone;
    return reason_.compare_exchange_strong(none, reason);
  }
  StopReason reason() const noexcept { return reason_.load(std::memory_order_relaxed); }

 private:
  static_assert(std::atomic<StopReason>::is_always_lock_free);
  std::atomic<StopReason> reason_{StopReason::kNone};
};

/// The side of a CancelSource that an operation polls. Cheap; may be copied and used from any thread. A token without a
/// source never stops.
class CancelToken {
 public:
  CancelToken() = default;
  explicit CancelToken(const CancelSource& source) : source_(&source) {}
  bool stopped() const { return source_ != nullptr && source_->reason() != StopReason::kNone; }
  /// Returns kInterrupted (SIGINT) or kTerminated (SIGTERM, SIGHUP) once a stop was requested, else ok. Callers return
  /// it like any other error.
  Status check() const;

 private:
  const CancelSource* source_ = nullptr;
};

}  // namespace titan::ckpt
