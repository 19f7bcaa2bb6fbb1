#pragma once
// Divisions of whole numbers that round up. Pure.
#include <concepts>
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

}  // namespace titan::ckpt
