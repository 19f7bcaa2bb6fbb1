#pragma once
// Numbers as text: by a pattern of printf, in the fewest digits, or with the thing that they count. Pure.
#include <charconv>
#include <cmath>
#include <cstdint>
#include <string>
#include <string_view>
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

/// `number` with commas between its thousands: "1234567.50" -> "1,234,567.50".
std::string with_commas(std::string number);

/// "1 step", "1,234 steps", "2 leaves". `many` is the plural where it is not `one` with an s.
std::string counted(std::uint64_t count, std::string_view one, std::string_view many = {});

}  // namespace titan::ckpt
