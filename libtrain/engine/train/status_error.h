#pragma once
// A Status as an exception, for code where an error can only end the run.
#include <stdexcept>
#include <utility>

#include "ckpt/base/result.h"

namespace titan::train {

/// Which ranks have an error, and which of them reports it to the user. kAllRanks: all ranks; rank 0 reports it.
/// kThisRank: only this rank, which reports it. kOtherReports: this rank and another one, which reports it. In the last
/// two cases the ranks without the error see that they have lost a peer.
enum class ErrorScope { kAllRanks, kThisRank, kOtherReports };

/// For an error in samples on pipeline rank `stage`. The first stage and the last both read samples; the first reports
/// the error.
inline ErrorScope scope_of_sample_error(int stage) {
  return stage == 0 ? ErrorScope::kThisRank : ErrorScope::kOtherReports;
}

/// A Status that is not ok, as an exception.
struct StatusError : std::runtime_error {
  explicit StatusError(ckpt::Status s, ErrorScope m = ErrorScope::kAllRanks)
      : std::runtime_error(s.message), status(std::move(s)), scope(m) {}
  ckpt::Status status;
  ErrorScope scope;
};

/// Throws a StatusError if `status` is not ok.
inline void check(const ckpt::Status& status, ErrorScope scope = ErrorScope::kAllRanks) {
  if (!status.ok()) throw StatusError(status, scope);
}

/// The value of `result`. \error StatusError if it has none
template <typename T>
T take(ckpt::Result<T> result) {
  check(result.status());
  return std::move(result).value();
}

}  // namespace titan::train
