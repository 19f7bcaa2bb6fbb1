#pragma once
// The norm of the whole gradient, and clipping by it.
#include <cstdint>
#include <optional>
#include <vector>

#include "libtrain/engine/exchange/owned_gradient.h"

namespace titan::recipe {
struct RunPlan;
}

namespace titan::train {

/// The p of a p-norm: a whole number from 1 to 16, or the maximum.
struct NormOrder {
  static constexpr int kMax = 0;
  int p = 2;
  /// From the value of training.norm_type, which the key table has checked.
  static NormOrder of(double norm_type);
};

/// The norms of the whole gradient and of its tensors, from one row with one or two entries for every leaf of the
/// model: its sum of squares (p = 2), its maximum (kMax), else its maximum and the sum of |x / 2^e|^p, where 2^e is the
/// largest power of two that is at most the maximum. Each rank fills in the entries of leaves that it owns, and the
/// rows of all ranks are added. The sum is exact, for an entry has one owner.
class GradNorms {
 public:
  explicit GradNorms(const recipe::RunPlan& plan, NormOrder order = {});
  /// The number of entries of the row.
  std::int64_t size() const { return static_cast<std::int64_t>(first_leaf_.back()) * width_; }
  /// Sets the entries of the leaves in `grads`, in parallel over leaves.
  void fill(const std::vector<OwnedGradient>& grads, double* row) const;

  /// Global norm: leaves are added in index order per tensor, tensors in name order. The same bits on every rank and
  /// layout. The norm of non-finite gradients is not finite.
  double norm(const double* row) const;
  /// The norm of each parameter, in the order of the plan.
  std::vector<double> parameter_norms(const double* row) const;
  /// The first parameter by name whose gradient is not finite, as its place in the plan.
  std::optional<std::uint32_t> first_non_finite(const double* row) const;

 private:
  /// The sum over the parameter's leaves; if p is neither 2 nor kMax, of powers of values divided by 2^exponent.
  double sum_of(std::uint32_t parameter, int exponent, const double* row) const;
  /// The largest of the leaves' first entries; NaN if any is NaN.
  double max_of(std::uint32_t parameter, const double* row) const;
  double root(double sum, int exponent) const;

  NormOrder order_;
  int width_;
  std::vector<ckpt::LeafGrid> grids_;
  std::vector<std::uint64_t> first_leaf_;  // of each parameter, and the end
  std::vector<std::uint32_t> by_name_;
};

/// min(1, max_norm / (norm + 1e-6)) in fp64; 1 when max_norm <= 0. `norm` must be finite: the caller handles a norm
/// that is not before.
double clip_coefficient(double norm, double max_norm);

}  // namespace titan::train
