#include "ckpt/ops/weighted_sum.h"

#include <bit>
#include <cstdint>
#include <cstring>

#include "ckpt/base/integers.h"
#include "ckpt/ops/convert_dtype.h"
#include "ckpt/ops/element.h"

namespace titan::ckpt {
namespace {

// Two loops without branches, which the compiler can vectorise.
template <typename Load>
void add_each(std::span<double> sums, double weight, bool first, Load load) {
  if (first) {
    for (std::size_t i = 0; i < sums.size(); ++i) sums[i] = weight * load(i);
  } else {
    for (std::size_t i = 0; i < sums.size(); ++i) sums[i] += weight * load(i);
  }
}

}  // namespace

void add_weighted(DType dtype, std::span<const std::byte> in, double weight, bool first, std::span<double> sum) {
  const std::byte* bytes = in.data();
  if (dtype == DType::kF32) {
    add_each(sum, weight, first, [&](std::size_t i) { return static_cast<double>(element_at<float>(bytes, i)); });
  } else if (dtype == DType::kBF16) {
    add_each(sum, weight, first, [&](std::size_t i) {
      const std::uint32_t bits = element_at<std::uint16_t>(bytes, i);
      return static_cast<double>(std::bit_cast<float>(bits << 16));
    });
  } else {
    const std::size_t size = dtype_size(dtype);
    add_each(sum, weight, first, [&](std::size_t i) { return element_value(dtype, bytes + i * size); });
  }
}

void round_sums(std::span<const double> sums, DType dtype, std::span<std::byte> out) {
  if (dtype == DType::kF64) {
    std::memcpy(out.data(), sums.data(), sums.size_bytes());
  } else if (dtype == DType::kF32) {
    for (std::size_t i = 0; i < sums.size(); ++i) {
      const float value = static_cast<float>(sums[i]);
      std::memcpy(out.data() + i * sizeof value, &value, sizeof value);
    }
  } else {
    convert_elements(DType::kF64, std::as_bytes(sums), dtype, out);
  }
}

}  // namespace titan::ckpt
