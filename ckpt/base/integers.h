#pragma once
// Divisions of whole numbers that round up, and numbers in bytes. Pure.
#include <bit>
#include <concepts>
#include <cstddef>
#include <cstring>
#include <type_traits>

namespace titan::ckpt {

/// How many blocks of `by` hold `value`: the quotient, rounded up. `value` + `by` must not overflow.
template <std::integral T>
constexpr T ceil_div(T value, std::type_identity_t<T> by) {
  return (value + by - 1) / by;
}

/// The smallest multiple of `to` that is not below `value`.
template <std::integral T>
constexpr T round_up(T value, std::type_identity_t<T> to) {
  return ceil_div(value, to) * to;
}

/// The `i`-th of the little-endian numbers at `bytes`, which need not be aligned.
template <typename T>
T element_at(const std::byte* bytes, std::size_t i = 0) {
  static_assert(std::endian::native == std::endian::little, "checkpoints are little-endian");
  T value;
  std::memcpy(&value, bytes + i * sizeof value, sizeof value);
  return value;
}

}  // namespace titan::ckpt
