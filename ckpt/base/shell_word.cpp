#include "ckpt/base/shell_word.h"

#include <algorithm>
#include <string_view>

namespace titan::ckpt {
namespace {

bool is_plain(char c) {
  constexpr std::string_view kOthers = "_@%+=:,./-";
  const bool letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
  return letter || (c >= '0' && c <= '9') || static_cast<unsigned char>(c) >= 0x80 ||
         kOthers.find(c) != std::string_view::npos;
}

}  // namespace

std::string shell_word(const std::string& text) {
  if (!text.empty() && std::all_of(text.begin(), text.end(), is_plain)) return text;
  std::string word = "'";
  for (const char c : text) word += c == '\'' ? "'\\''" : std::string(1, c);
  return word + "'";
}

}  // namespace titan::ckpt
