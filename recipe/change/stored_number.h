#pragma once
// Numbers in the texts of a checkpoint's settings and environment, which may be of other programs, versions or hands.
#include <charconv>
#include <optional>
#include <string_view>
#include <system_error>

namespace titan::recipe {

/// Returns `text` as a number of type T; nothing where it is not one from its first to its last character, or does not
/// fit.
template <typename T>
std::optional<T> stored_number(std::string_view text) {
  T value{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{} || end != text.data() + text.size()) return std::nullopt;
  return value;
}

}  // namespace titan::recipe
