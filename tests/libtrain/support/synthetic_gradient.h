#pragma once
// Made-up gradients, and their sum by the definition of the tree.
#include <cmath>
#include <string>
#include <vector>

#include <ATen/ATen.h>

#include "libtrain/engine/model/init.h"
#include "libtrain/job/reduction/tree.h"

namespace titan::test {

/// The gradient of one slot and micro-batch: a pure function of both, with widely varying magnitudes.
inline at::Tensor synthetic_gradient(const std::string& slot, std::uint32_t micro_batch, at::IntArrayRef shape) {
  at::Tensor grad = at::empty(shape, at::kFloat);
  train::draw({train::InitKind::kNormal, std::exp2(static_cast<double>(micro_batch % 5))}, micro_batch, slot,
              {grad.mutable_data_ptr<float>(), static_cast<std::size_t>(grad.numel())});
  return grad;
}

inline at::Tensor recursive_sum(const std::vector<at::Tensor>& x, train::Node node) {
  if (node.hi - node.lo == 1) return x[node.lo].clone();
  return recursive_sum(x, node.left()) + recursive_sum(x, node.right());
}

}  // namespace titan::test
