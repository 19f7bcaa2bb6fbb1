#pragma once
// A Status as an exception, for code where an error can only end the run.
#include <stdexcept>
#include <utility>

#include "ckpt/base/result.h"

namespace titan::train {

/// Which ranks have an error, and which of them reports it to the user. kByAll: all ranks; rank 0 reports it. kHere:
/// only this rank, which reports it. kHereToo: this rank and another one, which reports it. In the last two cases the
/// ranks without the error see that they have lost a peer.
enum class Met { kByAll, kHere, kHereToo };

/// For an error in samples on pipeline rank `stage`. The first stage and the last both read samples; the first reports
/// the error.
inline Met met_in_samples(int stage) { return stage == 0 ? Met::kHere : Met::kHereToo; }

/// A Status that is not ok, as an exception.
struct StatusError : std::runtime_error {
  explicit StatusError(ckpt::Status s, Met m = Met::kByAll)
      : std::runtime_error(s.message), status(std::move(s)), met(m) {}
  ckpt::Status status;
  Met met;
};

/// Throws a StatusError if `status` is not ok.
inline void check(const ckpt::Status& status, Met met = Met::kByAll) {
  if (!status.ok()) throw StatusError(status, met);
}

/// The value of `result`. \error StatusError if it has none
template <typename T>
T take(ckpt::Result<T> result) {
  check(result.status());
  return std::move(result).value();
}

}  // namespace titan::train
