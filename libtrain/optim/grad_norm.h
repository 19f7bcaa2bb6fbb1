#pragma once
// The norm of the whole gradient, and clipping by it.
#include <cstdint>
#include <optional>
#include <vector>

#include "libtrain/reduce/gradient_exchange.h"

namespace titan::train {

/// Sum of squares of one leaf: 16 fp64 lanes (element k to lane k mod 16), lanes added as a tree; independent of SIMD
/// width.
double leaf_sum_of_squares(const float* data, std::int64_t count);

/// The norms of the whole gradient and of its tensors, from one row with the sum of squares of every leaf of the model:
/// each rank fills in what it owns, and the rows of all ranks are added. That is exact: an entry has one owner.
class GradNorms {
 public:
  explicit GradNorms(const recipe::RunPlan& plan);
  /// Entries of the row.
  std::int64_t size() const { return static_cast<std::int64_t>(first_leaf_.back()); }
  /// Sets the entries of `grads`; leaves are worked on in parallel.
  void fill(const std::vector<OwnedGradient>& grads, double* row) const;

  /// Global L2 norm: leaves added in index order per tensor, tensors in name order. The same bits on every rank and
  /// layout; non-finite values come through as such.
  double norm(const double* row) const;
  /// The norm of each parameter, in the order of the plan.
  std::vector<double> parameter_norms(const double* row) const;
  /// The first parameter by name whose gradient is not finite, as its place in the plan.
  std::optional<std::uint32_t> first_non_finite(const double* row) const;

 private:
  double sum_of(std::uint32_t parameter, const double* row) const;

  std::vector<ckpt::LeafGrid> grids_;
  std::vector<std::uint64_t> first_leaf_;  // of each parameter, and the end
  std::vector<std::uint32_t> by_name_;
};

/// min(1, max_norm / (norm + 1e-6)) in fp64; 1 when max_norm <= 0. `norm` must be finite: the caller stops before.
double clip_coefficient(double norm, double max_norm);

}  // namespace titan::train
