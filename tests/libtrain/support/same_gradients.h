#pragma once
// Compares two ways to compute the same thing, forward and backward, bit for bit.
#include <functional>
#include <string>
#include <vector>

#include <gtest/gtest.h>
#include <torch/csrc/autograd/autograd.h>

#include "tests/libtrain/support/tensors.h"

namespace titan::test {

using Compute = std::function<at::Tensor(const std::vector<at::Tensor>& inputs)>;

/// A leaf of random numbers that requires grad.
inline at::Tensor leaf(at::IntArrayRef shape, at::ScalarType type, std::uint64_t seed) {
  return random_tensor(c10::multiply_integers(shape), seed).view(shape).to(type).detach().requires_grad_(true);
}

inline bool equal_bits(const at::Tensor& a, const at::Tensor& b) {
  return a.scalar_type() == b.scalar_type() && a.sizes() == b.sizes() && same_bits(floats(a), floats(b));
}

/// `inputs`: leaves that require grad. Outputs and all gradients of a random seed must be equal.
inline void expect_same_bits(const Compute& got, const Compute& expected, const std::vector<at::Tensor>& inputs,
                             const std::string& where) {
  const at::Tensor a = got(inputs), b = expected(inputs);
  EXPECT_TRUE(equal_bits(a, b)) << where << ": outputs";
  const at::Tensor seed = random_tensor(b.numel(), 99).view(b.sizes()).to(b.scalar_type());
  const auto a_grads = torch::autograd::grad({a}, inputs, {seed}), b_grads = torch::autograd::grad({b}, inputs, {seed});
  for (std::size_t i = 0; i < inputs.size(); ++i)
    EXPECT_TRUE(equal_bits(a_grads[i], b_grads[i])) << where << ": gradient " << i;
  const at::NoGradGuard no_grad;
  EXPECT_TRUE(equal_bits(got(inputs), b)) << where << ": without a graph";
}

inline const at::ScalarType kTypes[] = {at::kFloat, at::kBFloat16};
inline std::string type_name(at::ScalarType type) { return type == at::kFloat ? "fp32" : "bf16"; }

}  // namespace titan::test
