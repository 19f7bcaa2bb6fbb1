#pragma once
// Numbers as text: by a pattern of printf, or in the fewest digits. Pure.
#include <charconv>
#include <cmath>
#include <string>
#include <type_traits>

namespace titan::ckpt {

/// The text that printf() would print.
[[gnu::format(printf, 1, 2)]] std::string printed(const char* pattern, ...);

/// The shortest text that parses to the same `number`; "nan", "inf", "-inf".
template <typename T>
std::string digits_of(T number) {
  if constexpr (std::is_floating_point_v<T>)
    if (std::isnan(number)) return "nan";  // never "-nan"
  char digits[64];
  return {digits, std::to_chars(digits, digits + sizeof digits, number).ptr};
}

}  // namespace titan::ckpt
