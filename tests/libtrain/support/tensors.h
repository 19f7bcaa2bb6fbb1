#pragma once
// Tensors of random numbers, and their values, for tests that compare bits.
#include <cstdint>
#include <cstring>
#include <vector>

#include <ATen/ATen.h>

#include "libtrain/engine/model/init.h"
#include "libtrain/engine/model/runtime.h"

namespace titan::test {

inline void use_one_thread() { train::setup_determinism(1); }

inline at::Tensor random_tensor(std::int64_t count, std::uint64_t seed, double std = 1) {
  at::Tensor t = at::empty({count}, at::kFloat);
  train::draw({train::InitKind::kNormal, std}, seed, "test",
              {t.mutable_data_ptr<float>(), static_cast<std::size_t>(count)});
  return t;
}

/// Exact equality of two lists of numbers, NaN included.
template <typename T>
bool same_bits(const std::vector<T>& a, const std::vector<T>& b) {
  return a.size() == b.size() && std::memcmp(a.data(), b.data(), a.size() * sizeof(T)) == 0;
}
inline std::vector<float> floats(const at::Tensor& tensor) {
  const at::Tensor t = tensor.detach().to(at::kFloat).contiguous();
  return {t.const_data_ptr<float>(), t.const_data_ptr<float>() + t.numel()};
}

}  // namespace titan::test
