#pragma once
// A Status as an exception: inside the loop there is no other way out than to end the run.
#include <stdexcept>
#include <utility>

#include "ckpt/base/result.h"

namespace titan::train {

/// Who meets an error: all ranks together (rank 0 reports it), this one alone (it reports, the others lose a peer), or
/// this one and another that reports it (the rest lose a peer).
enum class Met { kByAll, kHere, kHereToo };

/// Of an error in samples, which the first stage and the last both read, on rank `stage` of the pipeline: the first
/// reports it.
inline Met met_in_samples(int stage) { return stage == 0 ? Met::kHere : Met::kHereToo; }

struct StatusError : std::runtime_error {
  explicit StatusError(ckpt::Status s, Met m = Met::kByAll)
      : std::runtime_error(s.message), status(std::move(s)), met(m) {}
  ckpt::Status status;
  Met met;
};

inline void check(const ckpt::Status& status, Met met = Met::kByAll) {
  if (!status.ok()) throw StatusError(status, met);
}

template <typename T>
T take(ckpt::Result<T> result) {
  check(result.status());
  return std::move(result).value();
}

}  // namespace titan::train
