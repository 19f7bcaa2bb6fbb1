#include "ckpt/base/wrap.h"

#include <algorithm>

namespace titan::ckpt {
namespace {

std::size_t characters(std::string_view text) {
  return static_cast<std::size_t>(std::count_if(text.begin(), text.end(), [](char c) { return (c & 0xc0) != 0x80; }));
}

}  // namespace

std::vector<std::string> wrap_words(std::string_view text, std::size_t width, std::size_t first) {
  std::vector<std::string> lines(1);
  std::size_t used = first;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t word = std::min(text.find_first_not_of(' ', at), text.size());
    const std::size_t end = std::min(text.find(' ', word), text.size());
    const std::size_t length = characters(text.substr(at, end - at));
    if (used + length > width && used > 0 && word < text.size()) {
      lines.emplace_back(text.substr(word, end - word));
      used = characters(lines.back());
    } else if (word < text.size()) {
      lines.back() += text.substr(at, end - at);
      used += length;
    }
    at = end;
  }
  return lines;
}

std::string wrapped_text(std::string_view text, std::size_t width, std::size_t indent) {
  std::string out;
  for (const std::string& line : wrap_words(text, std::max(width, indent + 1) - indent))
    out += (out.empty() ? "" : "\n" + std::string(indent, ' ')) + line;
  return out;
}

}  // namespace titan::ckpt
