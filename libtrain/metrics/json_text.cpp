// Values as JSON text: what metrics.jsonl is made of.
#include <charconv>
#include <cmath>
#include <cstdio>
#include <ctime>

#include "libtrain/data/utf8.h"
#include "libtrain/metrics/metrics.h"

namespace titan::train {
namespace {

void append_escaped(std::string* out, std::string_view text) {
  for (const char c : text) {
    if (c == '"' || c == '\\') {
      *out += '\\';
      *out += c;
    } else if (c == '\n') {
      *out += "\\n";
    } else if (static_cast<unsigned char>(c) < 0x20 || c == 0x7F) {
      char code[8];
      std::snprintf(code, sizeof code, "\\u%04x", static_cast<unsigned>(c));
      *out += code;
    } else {
      *out += c;
    }
  }
}

}  // namespace

std::string json_string(std::string_view text) {
  std::string out = "\"";
  for (;;) {
    const std::size_t valid = valid_utf8_prefix(text);
    append_escaped(&out, text.substr(0, valid));
    if (valid == text.size()) break;
    out += "\xEF\xBF\xBD";
    text.remove_prefix(valid + 1);
  }
  return out + '"';
}

std::string json_number(double value) {
  if (std::isnan(value)) return "\"nan\"";
  if (std::isinf(value)) return value > 0 ? "\"inf\"" : "\"-inf\"";
  char text[32];
  const std::to_chars_result end = std::to_chars(text, text + sizeof text, value);
  return std::string(text, end.ptr);
}

std::string utc_now() {
  timespec now;
  ::clock_gettime(CLOCK_REALTIME, &now);
  std::tm utc;
  ::gmtime_r(&now.tv_sec, &utc);
  char text[64];
  std::snprintf(text, sizeof text, "%04d-%02d-%02dT%02d:%02d:%02d.%03dZ", utc.tm_year + 1900, utc.tm_mon + 1,
                utc.tm_mday, utc.tm_hour, utc.tm_min, utc.tm_sec, static_cast<int>(now.tv_nsec / 1000000));
  return text;
}

}  // namespace titan::train
