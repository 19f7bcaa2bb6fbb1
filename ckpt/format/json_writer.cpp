#include "ckpt/format/json_writer.h"

#include <charconv>
#include <cmath>
#include <cstring>

namespace titan::ckpt {
namespace {

// Length of the well-formed UTF-8 sequence at the front of `text`, 0 when there is none.
std::size_t utf8_length(std::string_view text) {
  const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(text[i]); };
  const unsigned char lead = byte(0);
  if (lead < 0x80) return 1;
  const std::size_t length = lead >= 0xC2 && lead < 0xE0   ? 2
                             : lead >= 0xE0 && lead < 0xF0 ? 3
                             : lead >= 0xF0 && lead < 0xF5 ? 4
                                                           : 0;
  if (length == 0 || text.size() < length) return 0;
  for (std::size_t i = 1; i < length; ++i) {
    if ((byte(i) & 0xC0) != 0x80) return 0;
  }
  const unsigned char second = byte(1);
  if ((lead == 0xE0 && second < 0xA0) || (lead == 0xED && second > 0x9F) || (lead == 0xF0 && second < 0x90) ||
      (lead == 0xF4 && second > 0x8F)) {
    return 0;  // overlong forms, surrogates, beyond U+10FFFF
  }
  return length;
}

void append_string(std::string* out, std::string_view text) {
  *out += '"';
  while (!text.empty()) {
    const std::size_t length = utf8_length(text);
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

bool is_utf8(std::string_view text) {
  while (!text.empty()) {
    // Long runs of ASCII are the rule.
    std::uint64_t words[4];
    if (text.size() >= sizeof words) {
      std::memcpy(words, text.data(), sizeof words);
      if (((words[0] | words[1] | words[2] | words[3]) & 0x8080808080808080) == 0) {
        text.remove_prefix(sizeof words);
        continue;
      }
    }
    const std::size_t length = utf8_length(text);
    if (length == 0) return false;
    text.remove_prefix(length);
  }
  return true;
}

void JsonWriter::separate() {
  if (comma_) out_ += ',';
  if (line_) out_ += '\n';
  comma_ = line_ = false;
}

JsonWriter& JsonWriter::begin() {
  separate();
  out_ += '{';
  return *this;
}

JsonWriter& JsonWriter::end() {
  if (line_) out_ += '\n';
  out_ += '}';
  comma_ = true;
  line_ = false;
  return *this;
}

JsonWriter& JsonWriter::begin_list() {
  separate();
  out_ += '[';
  return *this;
}

JsonWriter& JsonWriter::end_list() {
  if (line_) out_ += '\n';
  out_ += ']';
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

JsonWriter& JsonWriter::value(std::uint64_t number) {
  separate();
  char digits[24];
  out_.append(digits, std::to_chars(digits, digits + sizeof digits, number).ptr);
  comma_ = true;
  return *this;
}

JsonWriter& JsonWriter::value(double number) {
  if (!std::isfinite(number)) return null();
  separate();
  char digits[40];
  out_.append(digits, std::to_chars(digits, digits + sizeof digits, number).ptr);
  if (number == 0 && std::signbit(number)) out_ += ".0";  // "-0" would be read as the integer 0
  comma_ = true;
  return *this;
}

JsonWriter& JsonWriter::value(bool truth) {
  separate();
  out_ += truth ? "true" : "false";
  comma_ = true;
  return *this;
}

JsonWriter& JsonWriter::null() {
  separate();
  out_ += "null";
  comma_ = true;
  return *this;
}

JsonWriter& JsonWriter::string_map(const std::vector<std::pair<std::string, std::string>>& entries) {
  begin();
  for (const auto& [name, text] : entries) line().key(name).value(text);
  return end();
}

JsonWriter& JsonWriter::string_list(const std::vector<std::string>& entries) {
  begin_list();
  for (const std::string& entry : entries) value(entry);
  return end_list();
}

std::string JsonWriter::finish() && {
  out_ += '\n';
  return std::move(out_);
}

}  // namespace titan::ckpt
