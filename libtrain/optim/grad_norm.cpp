#include "libtrain/optim/grad_norm.h"

#include <ATen/ATen.h>

#include <algorithm>
#include <cmath>
#include <numeric>

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

double global_grad_norm(World& world, const recipe::RunPlan& plan, const std::vector<OwnedGradient>& grads) {
  std::vector<std::uint64_t> first_leaf;  // of each parameter, in one row over the model
  std::uint64_t leaves = 0;
  for (const ckpt::ParameterMeta& p : plan.parameters) {
    first_leaf.push_back(leaves);
    leaves += p.grid(plan.leaf_elements).count();
  }
  at::Tensor sums = at::zeros({static_cast<std::int64_t>(leaves)}, at::kDouble);
  double* const row = sums.mutable_data_ptr<double>();
  for (const OwnedGradient& g : grads) {
    const ckpt::LeafGrid grid = plan.parameters[g.piece.parameter].grid(plan.leaf_elements);
    const float* data = g.grad.const_data_ptr<float>();
    for (std::uint64_t leaf = g.piece.leaves.first; leaf < g.piece.leaves.end(); ++leaf) {
      row[first_leaf[g.piece.parameter] + leaf] =
          leaf_sum_of_squares(data, static_cast<std::int64_t>(grid.length(leaf)));
      data += grid.length(leaf);
    }
  }
  world.all->all_reduce_sum(sums);  // exact: every entry has one owner, the others add zero

  std::vector<std::size_t> by_name(plan.parameters.size());
  std::iota(by_name.begin(), by_name.end(), std::size_t{0});
  std::sort(by_name.begin(), by_name.end(),
            [&](std::size_t a, std::size_t b) { return plan.parameters[a].name < plan.parameters[b].name; });
  double total = 0;
  for (const std::size_t p : by_name) {
    double tensor = 0;
    for (std::uint64_t leaf = 0; leaf < plan.parameters[p].grid(plan.leaf_elements).count(); ++leaf)
      tensor += row[first_leaf[p] + leaf];
    total += tensor;
  }
  return std::sqrt(total);
}

double clip_coefficient(double norm, double max_norm) {
  return max_norm <= 0 ? 1 : std::min(1.0, max_norm / (norm + 1e-6));
}

}  // namespace titan::train
