#pragma once
// Splitting, joining and parsing text. Pure.
#include <charconv>
#include <cstddef>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace titan::ckpt {

/// All `words` as one text, with `between` between them.
std::string joined(const std::vector<std::string>& words, std::string_view between = ", ");

/// The texts that `text_of` (a function, or a pointer to a member) gives for each of `items`, as one text, with
/// `between` between them.
template <typename Items, typename TextOf>
std::string joined(const Items& items, std::string_view between, TextOf text_of) {
  std::string text;
  bool first = true;
  for (const auto& item : items) text.append(std::exchange(first, false) ? "" : between) += std::invoke(text_of, item);
  return text;
}

/// The parts of `text` between separators: "a,,b" has three parts, "" has one (empty) part.
std::vector<std::string> split(std::string_view text, char separator);

/// `text` without `blanks` at its ends; by default spaces, tabs and carriage returns.
std::string_view trimmed(std::string_view text, std::string_view blanks = " \t\r");

inline bool is_digit(char c) { return c >= '0' && c <= '9'; }

/// Parses all of `text` as a number; nullopt for any other text or a number outside the range of T.
template <typename T>
std::optional<T> number_of(std::string_view text) {
  T number{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc{} || end != text.data() + text.size()) return std::nullopt;
  return number;
}

/// `bytes` as text, without a copy: valid as long as `bytes` are.
inline std::string_view text_of(std::span<const std::byte> bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

}  // namespace titan::ckpt
