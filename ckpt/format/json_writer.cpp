#include "ckpt/format/json_writer.h"

#include <charconv>
#include <cmath>
#include <cstring>

#include "ckpt/base/utf8.h"

namespace titan::ckpt {
namespace {

void append_string(std::string* out, std::string_view text) {
  *out += '"';
  while (!text.empty()) {
    const std::size_t length = decode_utf8(text).bytes;
    const unsigned char c = static_cast<unsigned char>(text[0]);
    if (length == 0) {
      *out += "\\ufffd";
    } else if (c < 0x20 || c == 0x7F) {
      constexpr char kHex[] = "0123456789abcdef";
      *out += c == '\n' ? std::string("\\n") : std::string("\\u00") + kHex[c >> 4] + kHex[c & 15];
    } else {
      if (c == '"' || c == '\\') *out += '\\';
      *out += text.substr(0, length);
    }
    text.remove_prefix(length == 0 ? 1 : length);
  }
  *out += '"';
}

}  // namespace

std::string json_string(std::string_view text) {
  std::string out;
  append_string(&out, text);
  return out;
}

void JsonWriter::separate() {
  if (comma_) out_ += ',';
  if (line_) out_ += '\n';
  comma_ = line_ = false;
}

JsonWriter& JsonWriter::open(char bracket) {
  separate();
  out_ += bracket;
  return *this;
}

JsonWriter& JsonWriter::close(char bracket) {
  if (line_) out_ += '\n';
  out_ += bracket;
  comma_ = true;
  line_ = false;
  return *this;
}

JsonWriter& JsonWriter::line() {
  line_ = true;
  return *this;
}

JsonWriter& JsonWriter::key(std::string_view name) {
  value(name);
  out_ += ':';
  comma_ = false;
  return *this;
}

JsonWriter& JsonWriter::value(std::string_view text) {
  separate();
  append_string(&out_, text);
  comma_ = true;
  return *this;
}

JsonWriter& JsonWriter::json(std::string_view text) {
  separate();
  out_ += text;
  comma_ = true;
  return *this;
}

JsonWriter& JsonWriter::value(std::uint64_t number) {
  char digits[24];
  return json({digits, std::to_chars(digits, digits + sizeof digits, number).ptr});
}

JsonWriter& JsonWriter::value(double number) {
  if (!std::isfinite(number)) return null();
  char digits[40];
  json({digits, std::to_chars(digits, digits + sizeof digits, number).ptr});
  if (number == 0 && std::signbit(number)) out_ += ".0";  // "-0" would be read as the integer 0
  return *this;
}

JsonWriter& JsonWriter::value(const std::vector<std::pair<std::string, std::string>>& entries) {
  begin();
  for (const auto& [name, text] : entries) line().key(name).value(text);
  return end();
}

std::string JsonWriter::finish() && {
  out_ += '\n';
  return std::move(out_);
}

}  // namespace titan::ckpt
