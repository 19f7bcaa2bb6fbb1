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

}  // namespace titan::ckpt
