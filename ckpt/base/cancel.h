#pragma once
// Stopping on request. Long operations poll a token between leaves and files; what they had begun is taken back by the
// destructors and error paths that a failure would take, so nothing is half-made.
#include <atomic>

#include "ckpt/base/status.h"

namespace titan::ckpt {

enum class StopReason : int { kNone = 0, kInterrupt, kTerminate, kHangUp };  ///< SIGINT; SIGTERM; SIGHUP

/// Where a request to stop is made, from any thread or from a signal handler; the first one counts. Outlives its
/// tokens.
class CancelSource {
 public:
  /// Async-signal-safe. Returns false when a stop had been asked for before.
  bool request(StopReason reason) noexcept {
    StopReason none = StopReason::kNone;
    return reason_.compare_exchange_strong(none, reason);
  }
  StopReason reason() const noexcept { return reason_.load(std::memory_order_relaxed); }

 private:
  static_assert(std::atomic<StopReason>::is_always_lock_free);
  std::atomic<StopReason> reason_{StopReason::kNone};
};

/// What an operation polls: cheap, copied freely, used from any thread. Without a source it never stops.
class CancelToken {
 public:
  CancelToken() = default;
  explicit CancelToken(const CancelSource& source) : source_(&source) {}
  bool stopped() const { return source_ != nullptr && source_->reason() != StopReason::kNone; }
  /// Returns ok, or kInterrupted or kTerminated once a stop was asked for: return it as any other error.
  Status check() const;

 private:
  const CancelSource* source_ = nullptr;
};

}  // namespace titan::ckpt
