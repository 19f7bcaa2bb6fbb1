#include "ckpt/base/prometheus.h"

namespace titan::ckpt {

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
