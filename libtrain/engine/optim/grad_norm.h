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

/// The p of a p-norm: an integer from 1 to 16, or kMax for the maximum norm.
struct NormOrder {
  static constexpr int kMax = 0;
  int p = 2;
  /// The order for a value of training.norm_type; infinity is kMax. The key table has checked the value.
  static NormOrder of(double norm_type);
};

/// The p-norms of the global gradient and of each parameter's gradient. Each rank fills one or two entries of an array
/// for each leaf that it owns, and an all-reduce (sum) of the array gives every rank identical norms. The sum is exact,
/// since only one rank fills an entry. Entries of a leaf: the sum of squares (p = 2); the largest |x| (kMax); otherwise
/// the largest |x| and the sum of |x / 2^e|^p, where 2^e is the largest power of two that is at most the largest |x|.
///
/// In the functions, `row` is the array of size() entries.
class GradNorms {
 public:
  explicit GradNorms(const recipe::RunPlan& plan, NormOrder order = {});
  /// The number of entries of the array.
  std::int64_t size() const { return static_cast<std::int64_t>(first_leaf_.back()) * width_; }
  /// Sets the entries of the leaves in `grads`.
  void fill(const std::vector<OwnedGradient>& grads, double* row) const;

  /// The global norm. Leaves are added in index order within a parameter, then parameters in name order: the same bits
  /// on every rank and layout. Not finite if a gradient is not finite.
  double norm(const double* row) const;
  /// The norm of each parameter's gradient, in the order of the plan.
  std::vector<double> parameter_norms(const double* row) const;
  /// The first parameter by name whose gradient is not finite, as an index in the plan.
  std::optional<std::uint32_t> first_non_finite(const double* row) const;

 private:
  /// The sum of |x|^p over the parameter's leaves; if p is not 2, of |x / 2^exponent|^p.
  double sum_of(std::uint32_t parameter, int exponent, const double* row) const;
  /// The maximum of the leaves' first entries; NaN if any is NaN.
  double max_of(std::uint32_t parameter, const double* row) const;
  /// The norm for a sum_of().
  double root(double sum, int exponent) const;

  NormOrder order_;
  int width_;  // entries per leaf
  std::vector<ckpt::LeafGrid> grids_;
  std::vector<std::uint64_t> first_leaf_;  // first leaf of each parameter, then the total number of leaves
  std::vector<std::uint32_t> by_name_;     // the parameters in name order
};

/// min(1, max_norm / (norm + 1e-6)) in fp64; 1 if max_norm <= 0. `norm` must be finite.
double clip_coefficient(double norm, double max_norm);

}  // namespace titan::train
