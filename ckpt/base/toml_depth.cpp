#include "ckpt/base/toml_depth.h"

#include <algorithm>

namespace titan::ckpt {
namespace {

/// Returns the offset after the string whose opening quote is at `begin`. A string without an end stops where the
/// parser stops with an error.
std::size_t end_of_string(std::string_view text, std::size_t begin) {
  const char quote = text[begin];
  const bool several_lines = text.substr(begin, 3) == std::string(3, quote);
  for (std::size_t i = begin + (several_lines ? 3 : 1); i < text.size(); ++i) {
    if (text[i] == '\\' && quote == '"') {
      ++i;
    } else if (!several_lines && text[i] == '\n') {
      return i;
    } else if (text[i] == quote) {
      if (!several_lines) return i + 1;
      // Three quotes end it, and up to two quotes may directly precede them.
      const std::size_t run = std::min(text.find_first_not_of(quote, i), text.size()) - i;
      if (run >= 3) return i + std::min<std::size_t>(run, 5);
      i += run - 1;
    }
  }
  return text.size();
}

}  // namespace

Status check_toml_depth(std::string_view text, const std::string& path) {
  unsigned dots = 0, brackets = 0;
  for (std::size_t i = 0; i < text.size();) {
    const char c = text[i];
    if (c == '"' || c == '\'') {
      i = end_of_string(text, i);
      continue;
    }
    if (c == '#') {
      i = std::min(text.find('\n', i), text.size());
      continue;
    }
    if (c == '.') ++dots;
    if (c == '[' || c == '{') ++brackets;
    if ((c == ']' || c == '}') && brackets > 0) --brackets;
    // Blanks, digits and letters belong to a key; these characters end it.
    if (std::string_view("\n=,[]{}").find(c) != std::string_view::npos) dots = 0;
    if (dots >= kMaxTomlDepth || brackets > kMaxTomlDepth) {
      const auto line = 1 + std::ranges::count(text.substr(0, i), '\n');
      const bool key = dots >= kMaxTomlDepth;
      return invalid(path + ":" + std::to_string(line) + ": " +
                     (key ? "a key has more than " : "a value lies in more than ") + std::to_string(kMaxTomlDepth) +
                     (key ? " parts" : " arrays and tables"));
    }
    ++i;
  }
  return ok_status();
}

}  // namespace titan::ckpt
