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

}  // namespace titan::ckpt
