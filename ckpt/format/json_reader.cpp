#include "ckpt/format/json_reader.h"

#include <charconv>
#include <cstring>
#include <limits>

#include "ckpt/format/json_writer.h"

namespace titan::ckpt {
namespace {

constexpr int kMaxDepth = 64;

bool is_digit(char c) { return c >= '0' && c <= '9'; }

// True when one of eight characters ends the plain part of a string: a quote, a backslash, or a control character.
bool has_special(const char* p) {
  constexpr std::uint64_t kOnes = 0x0101010101010101, kHigh = 0x8080808080808080;
  std::uint64_t word = 0;
  std::memcpy(&word, p, sizeof word);
  const auto zero_byte = [](std::uint64_t x) { return (x - kOnes) & ~x & kHigh; };
  return (zero_byte(word ^ kOnes * '"') | zero_byte(word ^ kOnes * '\\') | ((word - kOnes * 0x20) & ~word & kHigh)) != 0;
}

void append_utf8(std::string& out, std::uint32_t code) {
  if (code < 0x80) {
    out += static_cast<char>(code);
    return;
  }
  const int more = code < 0x800 ? 1 : code < 0x10000 ? 2 : 3;
  constexpr std::uint32_t kLead[] = {0, 0xC0, 0xE0, 0xF0};
  out += static_cast<char>(kLead[more] | code >> (6 * more));
  for (int i = more - 1; i >= 0; --i) out += static_cast<char>(0x80 | (code >> (6 * i) & 0x3F));
}

}  // namespace

JsonReader::JsonReader(std::string what, std::string_view text)
    : what_(std::move(what)), begin_(text.data()), at_(text.data()), end_(text.data() + text.size()) {
  if (!is_utf8(text)) fail("the text is not UTF-8");
}

void JsonReader::fail(const std::string& message) {
  if (ok()) fail(corrupt(what_ + ": " + message + " (at offset " + std::to_string(at_ - begin_) + ")"));
}

void JsonReader::fail(Status status) {
  if (!ok()) return;
  status_ = std::move(status);
  at_ = end_;
}

void JsonReader::unexpected(const char* expected) {
  skip_space();
  fail(std::string("expected ") + expected + (at_ == end_ ? ", found the end" : ""));
}

const Status& JsonReader::finish() {
  skip_space();
  if (ok() && at_ != end_) fail("text after the end of the value");
  return status_;
}

bool JsonReader::open(char bracket, const char* expected) {
  if (!take(bracket)) return unexpected(expected), false;
  if (++depth_ > kMaxDepth) return fail("nested too deeply"), false;
  return true;
}

bool JsonReader::more(bool first, char close) {
  if (!ok()) return false;
  if (take(close)) return false;
  if (first || take(',')) return true;
  unexpected(close == '}' ? "',' or '}'" : "',' or ']'");
  return false;
}

bool JsonReader::literal(std::string_view word) {
  skip_space();
  if (!std::string_view(at_, static_cast<std::size_t>(end_ - at_)).starts_with(word)) return false;
  at_ += word.size();
  return true;
}

std::uint64_t JsonReader::u64() {
  skip_space();
  std::uint64_t value = 0;
  const auto [end, error] = std::from_chars(at_, end_, value);
  const bool leading_zero = end - at_ > 1 && *at_ == '0';
  const bool fraction = end < end_ && (*end == '.' || *end == 'e' || *end == 'E');
  if (error != std::errc() || leading_zero || fraction) {
    unexpected("an integer of 64 bits that is not negative");
    return 0;
  }
  at_ = end;
  return value;
}

std::uint32_t JsonReader::u32() {
  const std::uint64_t value = u64();
  if (value > std::numeric_limits<std::uint32_t>::max()) fail("integer " + std::to_string(value) + " does not fit in 32 bits");
  return static_cast<std::uint32_t>(value);
}

std::uint64_t JsonReader::u64_string() {
  const std::string_view digits = text();
  std::uint64_t value = 0;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), value);
  if (error != std::errc() || end != digits.data() + digits.size()) fail("expected a decimal number as a string");
  return value;
}

std::string_view JsonReader::number() {
  skip_space();
  // from_chars takes more forms than JSON ("inf", ".5", "01"), so the grammar comes first.
  const char* const begin = at_;
  const char* p = at_;
  const auto digits = [&] {
    const char* from = p;
    while (p < end_ && is_digit(*p)) ++p;
    return p > from;
  };
  if (p < end_ && *p == '-') ++p;
  const bool zero = p < end_ && *p == '0';
  const char* whole = p;
  bool valid = digits() && !(zero && p - whole > 1);
  if (valid && p < end_ && *p == '.') valid = (++p, digits());
  if (valid && p < end_ && (*p == 'e' || *p == 'E')) {
    ++p;
    if (p < end_ && (*p == '+' || *p == '-')) ++p;
    valid = digits();
  }
  double value = 0;
  if (!valid || std::from_chars(begin, p, value).ec != std::errc()) {
    unexpected("a number that a double can hold");
    return {};
  }
  at_ = p;
  return {begin, static_cast<std::size_t>(p - begin)};
}

double JsonReader::real() {
  const std::string_view digits = number();
  double value = 0;
  std::from_chars(digits.data(), digits.data() + digits.size(), value);
  return value;
}

bool JsonReader::boolean() {
  if (literal("true")) return true;
  if (!literal("false")) unexpected("true or false");
  return false;
}

bool JsonReader::null() { return literal("null"); }

std::string_view JsonReader::text() {
  if (!take('"')) return unexpected("a string"), std::string_view();
  const char* begin = at_;
  while (end_ - at_ >= 8 && !has_special(at_)) at_ += 8;
  while (at_ < end_ && *at_ != '"' && *at_ != '\\' && static_cast<unsigned char>(*at_) >= 0x20) ++at_;
  if (at_ < end_ && *at_ == '"') return {begin, static_cast<std::size_t>(at_++ - begin)};
  return escaped(begin);
}

// Finishes a string that has an escape at the present place, or an error.
std::string_view JsonReader::escaped(const char* begin) {
  std::string& out = decoded_.emplace_back(begin, at_);
  while (at_ < end_ && *at_ != '"') {
    if (static_cast<unsigned char>(*at_) < 0x20) return fail("a control character in a string"), std::string_view();
    if (*at_ != '\\') {
      out += *at_++;
    } else if (++at_; !escape(out)) {
      return fail("a bad escape in a string"), std::string_view();
    }
  }
  if (at_ == end_) return fail("a string without an end"), std::string_view();
  ++at_;
  return out;
}

bool JsonReader::escape(std::string& out) {
  if (at_ == end_) return false;
  const char c = *at_++;
  constexpr std::string_view kNames = "\"\\/bfnrt", kValues = "\"\\/\b\f\n\r\t";
  if (const std::size_t i = kNames.find(c); i != std::string_view::npos) {
    out += kValues[i];
    return true;
  }
  std::uint32_t code = 0, low = 0;
  if (c != 'u' || !hex4(code) || (code >= 0xDC00 && code < 0xE000)) return false;
  if (code >= 0xD800 && code < 0xDC00) {
    if (!literal("\\u") || !hex4(low) || low < 0xDC00 || low >= 0xE000) return false;
    code = 0x10000 + ((code - 0xD800) << 10) + (low - 0xDC00);
  }
  append_utf8(out, code);
  return true;
}

bool JsonReader::hex4(std::uint32_t& value) {
  if (end_ - at_ < 4) return false;
  const auto [end, error] = std::from_chars(at_, at_ + 4, value, 16);
  if (error != std::errc() || end != at_ + 4) return false;
  at_ = end;
  return true;
}

Digest JsonReader::digest() {
  const std::string_view hex = text();
  if (!ok()) return {};
  auto parsed = parse_digest(hex);
  if (!parsed.ok()) return fail("expected a digest of 32 lower-case hex digits"), Digest();
  return *parsed;
}

std::vector<std::pair<std::string, std::string>> JsonReader::string_map() {
  std::vector<std::pair<std::string, std::string>> entries;
  object([&](std::string_view key) {
    if (!entries.empty() && key <= entries.back().first) fail("keys must ascend without repeats");
    entries.emplace_back(key, text());
  });
  return entries;
}

std::vector<std::string> JsonReader::string_list() {
  std::vector<std::string> list;
  array([&](std::size_t) { list.emplace_back(text()); });
  return list;
}

void JsonReader::skip() {
  switch (peek()) {
    case '{': object([&](std::string_view) { skip(); }); break;
    case '[': array([&](std::size_t) { skip(); }); break;
    case '"': text(); break;
    case 't':
    case 'f': boolean(); break;
    case 'n':
      if (!null()) unexpected("a value");
      break;
    default: real(); break;
  }
}

void SeenKeys::twice(std::string_view name) { reader_.fail("key '" + std::string(name) + "' twice in " + object_); }
void SeenKeys::missing(std::string_view name) { reader_.fail("key '" + std::string(name) + "' missing in " + object_); }

}  // namespace titan::ckpt
