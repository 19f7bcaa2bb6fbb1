#pragma once
// Statistics of a tensor in one pass. The caller determines the order of merging, so that results do not depend on
// threads. Pure.
// \source T. Chan, G. Golub, R. LeVeque, "Updating formulae and a pairwise algorithm for computing sample variances",
// 1979
#include <cstddef>
#include <cstdint>
#include <span>

#include "ckpt/model/dtype.h"

namespace titan::ckpt {

/// Statistics of consecutive elements. Non-finite elements are counted and excluded from the rest. Sums are in fp64.
struct TensorStats {
  std::uint64_t elements = 0;
  std::uint64_t zeros = 0;  ///< number of 0 and -0
  std::uint64_t nans = 0;
  std::uint64_t infinities = 0;  ///< number of inf and -inf
  double min = 0, max = 0;       ///< of the finite elements; 0 if there are none
  double mean = 0;
  double m2 = 0;  ///< sum of squared distances from the mean
  double sum_squares = 0;
  bool operator==(const TensorStats&) const = default;

  std::uint64_t non_finite() const { return nans + infinities; }
  std::uint64_t finite() const { return elements - non_finite(); }
  double std() const;   ///< of the population (divided by n)
  double norm() const;  ///< Euclidean
};

/// Returns the statistics of the elements at `bytes` (whole elements, little-endian).
TensorStats stats_of(DType dtype, std::span<const std::byte> bytes);

/// Merges `next` into `stats`. Another order of merging may change the last bits.
void merge_stats(TensorStats& stats, const TensorStats& next);

}  // namespace titan::ckpt
