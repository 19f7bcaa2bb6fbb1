#include "libtrain/engine/optim/grad_norm.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "libtrain/engine/device/kernels.h"
#include "libtrain/engine/device/leaf_norm.h"
#include "recipe/plan/plan_values.h"

namespace titan::train {
namespace {

/// std::max, but NaN if either argument is NaN.
double larger(double a, double b) { return std::isnan(a) || a > b ? a : b; }

}  // namespace

NormOrder NormOrder::of(double norm_type) { return {std::isinf(norm_type) ? kMax : static_cast<int>(norm_type)}; }

GradNorms::GradNorms(const recipe::RunPlan& plan, NormOrder order)
    : order_(order),
      width_(order.p == 2 || order.p == NormOrder::kMax ? 1 : 2),
      first_leaf_{0},
      by_name_(plan.parameters.size()) {
  for (const ckpt::ParameterMeta& parameter : plan.parameters) {
    grids_.push_back(parameter.grid(plan.leaf_elements));
    first_leaf_.push_back(first_leaf_.back() + grids_.back().count());
  }
  std::iota(by_name_.begin(), by_name_.end(), 0u);
  std::ranges::sort(by_name_, {}, [&](std::uint32_t i) { return plan.parameters[i].name; });
}

void GradNorms::fill(const std::vector<OwnedGradient>& grads, double* row) const {
  std::vector<NormLeaf> leaves;
  for (const OwnedGradient& g : grads) {
    const ckpt::LeafGrid& grid = grids_[g.piece.parameter];
    std::int64_t begin = 0;
    for (std::uint64_t leaf = g.piece.leaves.first; leaf < g.piece.leaves.end(); ++leaf) {
      const auto length = static_cast<std::int64_t>(grid.length(leaf));
      const std::uint64_t place = first_leaf_[g.piece.parameter] + leaf;
      leaves.push_back({&g.grad, begin, length, row + place * static_cast<std::uint64_t>(width_)});
      begin += length;
    }
  }
  kernels().leaf_norms(leaves, order_.p);
}

double GradNorms::sum_of(std::uint32_t parameter, int exponent, const double* row) const {
  double sum = 0;
  for (std::uint64_t leaf = first_leaf_[parameter]; leaf < first_leaf_[parameter + 1]; ++leaf) {
    const double* entry = row + leaf * static_cast<std::uint64_t>(width_);
    sum += width_ == 1 ? entry[0] : std::ldexp(entry[1], order_.p * (norm_exponent(entry[0]) - exponent));
  }
  return sum;
}

double GradNorms::max_of(std::uint32_t parameter, const double* row) const {
  double most = 0;
  for (std::uint64_t leaf = first_leaf_[parameter]; leaf < first_leaf_[parameter + 1]; ++leaf)
    most = larger(most, row[leaf * static_cast<std::uint64_t>(width_)]);
  return most;
}

double GradNorms::root(double sum, int exponent) const {
  if (order_.p == 2) return std::sqrt(sum);
  return std::ldexp(order_.p == 1 ? sum : std::pow(sum, 1.0 / order_.p), exponent);
}

double GradNorms::norm(const double* row) const {
  double most = 0;
  if (order_.p != 2)
    for (const std::uint32_t parameter : by_name_) most = larger(most, max_of(parameter, row));
  if (order_.p == NormOrder::kMax || !std::isfinite(most)) return most;
  const int exponent = norm_exponent(most);
  double total = 0;
  for (const std::uint32_t parameter : by_name_) total += sum_of(parameter, exponent, row);
  return root(total, exponent);
}

std::vector<double> GradNorms::parameter_norms(const double* row) const {
  std::vector<double> norms;
  for (std::uint32_t parameter = 0; parameter < grids_.size(); ++parameter) {
    const double most = order_.p == 2 ? 0 : max_of(parameter, row);
    const int exponent = norm_exponent(most);
    const bool is_norm = order_.p == NormOrder::kMax || !std::isfinite(most);
    norms.push_back(is_norm ? most : root(sum_of(parameter, exponent, row), exponent));
  }
  return norms;
}

std::optional<std::uint32_t> GradNorms::first_non_finite(const double* row) const {
  // The first entry of a leaf is finite if and only if all the leaf's elements are.
  const auto bad = std::ranges::find_if(by_name_, [&](std::uint32_t i) { return !std::isfinite(max_of(i, row)); });
  return bad == by_name_.end() ? std::nullopt : std::optional(*bad);
}

double clip_coefficient(double norm, double max_norm) {
  return max_norm <= 0 ? 1 : std::min(1.0, max_norm / (norm + 1e-6));
}

}  // namespace titan::train
