#include "ckpt/base/printed.h"

#include <cstdarg>
#include <cstdio>

namespace titan::ckpt {

std::string printed(const char* pattern, ...) {
  std::va_list values, again;
  va_start(values, pattern);
  va_copy(again, values);
  std::string text(static_cast<std::size_t>(std::vsnprintf(nullptr, 0, pattern, values)), '\0');
  std::vsnprintf(text.data(), text.size() + 1, pattern, again);
  va_end(values);
  va_end(again);
  return text;
}

std::string with_commas(std::string number) {
  const std::size_t point = number.find('.');
  const std::size_t first_digit = number.starts_with('-') ? 1 : 0;
  for (std::size_t at = point == std::string::npos ? number.size() : point; at > first_digit + 3;) {
    at -= 3;
    number.insert(at, 1, ',');
  }
  return number;
}

std::string counted(std::uint64_t count, std::string_view one, std::string_view many) {
  std::string text = with_commas(std::to_string(count)) + " ";
  if (count == 1 || many.empty()) text += one;
  if (count != 1) text += many.empty() ? "s" : many;
  return text;
}

}  // namespace titan::ckpt
