#include "libtrain/optim/grad_norm.h"

#include <ATen/ATen.h>
#include <ATen/Parallel.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#ifndef _OPENMP
#error "at::parallel_for stays on one thread in a file that is compiled without -fopenmp"
#endif

namespace titan::train {

double leaf_sum_of_squares(const float* data, std::int64_t count) {
  constexpr int kLanes = 16;
  double lanes[kLanes] = {};
  std::int64_t i = 0;
  for (; i + kLanes <= count; i += kLanes) {
    for (int k = 0; k < kLanes; ++k) {
      const double x = data[i + k];
      lanes[k] += x * x;
    }
  }
  for (int k = 0; i < count; ++i, ++k) {
    const double x = data[i];
    lanes[k] += x * x;
  }
  for (int half = kLanes / 2; half >= 1; half /= 2)
    for (int k = 0; k < half; ++k) lanes[k] += lanes[k + half];
  return lanes[0];
}

GradNorms::GradNorms(const recipe::RunPlan& plan) : first_leaf_{0}, by_name_(plan.parameters.size()) {
  for (const ckpt::ParameterMeta& parameter : plan.parameters) {
    grids_.push_back(parameter.grid(plan.leaf_elements));
    first_leaf_.push_back(first_leaf_.back() + grids_.back().count());
  }
  std::iota(by_name_.begin(), by_name_.end(), 0u);
  std::ranges::sort(by_name_, {}, [&](std::uint32_t i) { return plan.parameters[i].name; });
}

void GradNorms::fill(const std::vector<OwnedGradient>& grads, double* row) const {
  struct Leaf {
    const float* data;
    std::int64_t length;
    double* sum;
  };
  std::vector<Leaf> leaves;
  for (const OwnedGradient& g : grads) {
    const ckpt::LeafGrid& grid = grids_[g.piece.parameter];
    const float* data = g.grad.const_data_ptr<float>();
    for (std::uint64_t leaf = g.piece.leaves.first; leaf < g.piece.leaves.end(); ++leaf) {
      const auto length = static_cast<std::int64_t>(grid.length(leaf));
      leaves.push_back({data, length, row + first_leaf_[g.piece.parameter] + leaf});
      data += length;
    }
  }
  at::parallel_for(0, static_cast<std::int64_t>(leaves.size()), 1, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t i = begin; i < end; ++i) {
      const Leaf& leaf = leaves[static_cast<std::size_t>(i)];
      *leaf.sum = leaf_sum_of_squares(leaf.data, leaf.length);
    }
  });
}

double GradNorms::sum_of(std::uint32_t parameter, const double* row) const {
  double sum = 0;
  for (std::uint64_t leaf = first_leaf_[parameter]; leaf < first_leaf_[parameter + 1]; ++leaf) sum += row[leaf];
  return sum;
}

double GradNorms::norm(const double* row) const {
  double total = 0;
  for (const std::uint32_t parameter : by_name_) total += sum_of(parameter, row);
  return std::sqrt(total);
}

std::vector<double> GradNorms::parameter_norms(const double* row) const {
  std::vector<double> norms;
  for (std::uint32_t parameter = 0; parameter < grids_.size(); ++parameter)
    norms.push_back(std::sqrt(sum_of(parameter, row)));
  return norms;
}

std::optional<std::uint32_t> GradNorms::first_non_finite(const double* row) const {
  const auto bad = std::ranges::find_if(by_name_, [&](std::uint32_t i) { return !std::isfinite(sum_of(i, row)); });
  return bad == by_name_.end() ? std::nullopt : std::optional(*bad);
}

double clip_coefficient(double norm, double max_norm) {
  return max_norm <= 0 ? 1 : std::min(1.0, max_norm / (norm + 1e-6));
}

}  // namespace titan::train
