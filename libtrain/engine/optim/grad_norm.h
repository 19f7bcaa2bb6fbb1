#pragma once
// The global gradient norm, and clipping by it.
#include <cstdint>
#include <optional>
#include <vector>

#include "libtrain/engine/exchange/owned_gradient.h"

namespace titan::recipe {
struct RunPlan;
}

namespace titan::train {

/// The p of a p-norm: an integer from 1 to 16, or the maximum norm.
struct NormOrder {
  static constexpr int kMax = 0;
  int p = 2;
  /// Parses training.norm_type, which the key table has checked.
  static NormOrder of(double norm_type);
};

/// Global and per-tensor gradient p-norms. Each rank fills one or two entries of an array per leaf that it owns; an
/// all-reduce (sum) of the array gives every rank identical norms. The sum is exact, since only one rank fills an
/// entry. Entries of a leaf: the sum of squares (p = 2); the maximum (kMax); otherwise the maximum and the sum of |x /
/// 2^e|^p, where 2^e is the largest power of two that is at most the maximum.
class GradNorms {
 public:
  explicit GradNorms(const recipe::RunPlan& plan, NormOrder order = {});
  /// The number of entries of the array.
  std::int64_t size() const { return static_cast<std::int64_t>(first_leaf_.back()) * width_; }
  /// Sets the entries of the leaves in `grads`, in parallel over leaves.
  void fill(const std::vector<OwnedGradient>& grads, double* row) const;

  /// The global norm. Leaves are added in index order within a tensor, tensors in name order: the same bits on every
  /// rank and layout. Not finite if a gradient is not finite.
  double norm(const double* row) const;
  /// The norm of each parameter, in the order of the plan.
  std::vector<double> parameter_norms(const double* row) const;
  /// The first parameter by name whose gradient is not finite, as an index in the plan.
  std::optional<std::uint32_t> first_non_finite(const double* row) const;

 private:
  /// The sum over the parameter's leaves; if p is neither 2 nor kMax, of powers of values divided by 2^exponent.
  double sum_of(std::uint32_t parameter, int exponent, const double* row) const;
  /// The maximum of the leaves' first entries; NaN if any is NaN.
  double max_of(std::uint32_t parameter, const double* row) const;
  double root(double sum, int exponent) const;

  NormOrder order_;
  int width_;
  std::vector<ckpt::LeafGrid> grids_;
  std::vector<std::uint64_t> first_leaf_;  // first leaf of each parameter, then the total number of leaves
  std::vector<std::uint32_t> by_name_;
};

/// min(1, max_norm / (norm + 1e-6)) in fp64; 1 if max_norm <= 0. `norm` must be finite.
double clip_coefficient(double norm, double max_norm);

}  // namespace titan::train
