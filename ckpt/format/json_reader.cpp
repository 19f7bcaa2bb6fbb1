#include "ckpt/format/json_reader.h"

#include <bit>
#include <charconv>
#include <limits>
#include <optional>
#if defined(__SSE2__)
#include <emmintrin.h>
#endif

#include "ckpt/base/text.h"
#include "ckpt/base/utf8.h"
#include "ckpt/format/json_writer.h"

namespace titan::ckpt {
namespace {

bool ends_plain(char c) { return c == '"' || c == '\\' || static_cast<unsigned char>(c) < 0x20; }

// The first character from `p` on that ends the plain part of a string (a quote, a backslash or a control character);
// else `end`.
const char* plain_end(const char* p, const char* end) {
#if defined(__SSE2__)
  const __m128i quote = _mm_set1_epi8('"'), backslash = _mm_set1_epi8('\\'), last_control = _mm_set1_epi8(0x1f);
  for (; end - p >= 16; p += 16) {
    const __m128i text = _mm_loadu_si128(reinterpret_cast<const __m128i*>(p));
    const __m128i control = _mm_cmpeq_epi8(_mm_min_epu8(text, last_control), text);
    const int hits = _mm_movemask_epi8(
        _mm_or_si128(control, _mm_or_si128(_mm_cmpeq_epi8(text, quote), _mm_cmpeq_epi8(text, backslash))));
    if (hits != 0) return p + std::countr_zero(static_cast<unsigned>(hits));
  }
#endif
  while (p < end && !ends_plain(*p)) ++p;
  return p;
}

}  // namespace

JsonReader::JsonReader(std::string what, std::string_view text)
    : what_(std::move(what)), begin_(text.data()), at_(text.data()), end_(text.data() + text.size()) {
  if (const std::size_t valid = scan_text(text).valid; valid < text.size()) {
    at_ += valid;
    fail("the text is not UTF-8");
  }
  if (text.starts_with(kByteOrderMark))
    fail(corrupt(what_ + ": a byte order mark (EF BB BF) stands before the JSON, which allows none")
             .with_hint("save the file as UTF-8 without a byte order mark"));
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

bool JsonReader::refuse(const char* expected) {
  if (depth_ > kMaxDepth) {
    fail("nested too deeply");
  } else {
    unexpected(expected);
  }
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
  // Up to 19 digits cannot overflow; from_chars reads longer numbers.
  std::uint64_t value = 0;
  const char* end = at_;
  const char* const safe = end_ - at_ > 19 ? at_ + 19 : end_;
  while (end < safe && is_digit(*end)) value = value * 10 + static_cast<std::uint64_t>(*end++ - '0');
  bool valid = end > at_;
  if (end < end_ && is_digit(*end)) {
    const auto [last, error] = std::from_chars(at_, end_, value);
    end = last;
    valid = error == std::errc();
  }
  const bool leading_zero = end - at_ > 1 && *at_ == '0';
  const bool fraction = end < end_ && (*end == '.' || *end == 'e' || *end == 'E');
  if (!valid || leading_zero || fraction) {
    unexpected("an integer of 64 bits that is not negative");
    return 0;
  }
  at_ = end;
  return value;
}

std::uint32_t JsonReader::u32() {
  const std::uint64_t value = u64();
  if (value > std::numeric_limits<std::uint32_t>::max())
    fail("integer " + std::to_string(value) + " does not fit in 32 bits");
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
  // from_chars accepts more forms than JSON ("inf", ".5", "01"), so the grammar is checked first.
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
  if (!take('"')) {
    unexpected("a string");
    return {};
  }
  const char* begin = at_;
  at_ = plain_end(at_, end_);
  if (at_ < end_ && *at_ == '"') return {begin, static_cast<std::size_t>(at_++ - begin)};
  return escaped(begin);
}

std::string_view JsonReader::no_text(const char* why) {
  fail(why);
  return {};
}

// Reads the rest of a string, beginning with an escape; on malformed input records an error.
std::string_view JsonReader::escaped(const char* begin) {
  std::string& out = decoded_.emplace_back(begin, at_);
  while (at_ < end_ && *at_ != '"') {
    if (static_cast<unsigned char>(*at_) < 0x20) return no_text("a control character in a string");
    if (*at_ != '\\') {
      out += *at_++;
    } else if (++at_; !escape(out)) {
      return no_text("a bad escape in a string");
    }
  }
  if (at_ == end_) return no_text("a string without an end");
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
  const std::optional<Digest> digest = digest_from_hex(hex);
  if (!digest) fail("expected a digest of 32 lower-case hex digits");
  return digest.value_or(Digest());
}

std::vector<std::pair<std::string, std::string>> JsonReader::string_map() {
  return string_map([](std::size_t) {});
}

std::vector<std::pair<std::string, std::string>> JsonReader::string_map(
    const std::function<void(std::size_t bytes)>& member) {
  std::vector<std::pair<std::string, std::string>> entries;
  object([&](std::string_view key) {
    if (!entries.empty() && key <= entries.back().first) fail("keys must ascend without repeats");
    const std::string_view value = text();
    count_string();
    member(key.size() + value.size());
    entries.emplace_back(key, value);
  });
  return entries;
}

void JsonReader::count_string() {
  constexpr std::size_t kMostStrings = std::size_t{1} << 20;  // a string of two characters takes 32 bytes and more
  if (++strings_ > kMostStrings) fail("more than " + std::to_string(kMostStrings) + " strings in lists and maps");
}

std::vector<std::string> JsonReader::string_list() {
  std::vector<std::string> list;
  array([&](std::size_t) {
    count_string();
    list.emplace_back(text());
  });
  return list;
}

void JsonReader::skip() {
  // Nobody uses the skipped strings, so they are freed.
  const std::size_t before = decoded_.size();
  switch (peek()) {
    case '{':
      object([&](std::string_view) {
        skip();
        decoded_.resize(before);
      });
      break;
    case '[': array([&](std::size_t) { skip(); }); break;
    case '"': text(); break;
    case 't':
    case 'f': boolean(); break;
    case 'n':
      if (!null()) unexpected("a value");
      break;
    default: real(); break;
  }
  decoded_.resize(before);
}

void SeenKeys::twice(std::string_view name) { reader_.fail("key '" + std::string(name) + "' twice in " + object_); }
void SeenKeys::missing(const char* name) { reader_.fail("key '" + std::string(name) + "' missing in " + object_); }

}  // namespace titan::ckpt
