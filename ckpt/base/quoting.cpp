#include "ckpt/base/quoting.h"

#include <algorithm>

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

std::string quoted_label(const std::string& value) {
  std::string out = "\"";
  for (const char c : value) {
    if (c == '\\' || c == '"') out += '\\';
    if (c == '\n')
      out += "\\n";
    else
      out += c;
  }
  return out + "\"";
}

std::string unquoted_label(std::string_view text) {
  std::string out;
  if (!text.starts_with('"')) return out;
  for (std::size_t i = 1; i < text.size() && text[i] != '"'; ++i) {
    const bool escaped = text[i] == '\\' && i + 1 < text.size();
    if (escaped) ++i;
    out += escaped && text[i] == 'n' ? '\n' : text[i];
  }
  return out;
}

}  // namespace titan::ckpt
