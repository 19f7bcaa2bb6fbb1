#include "ckpt/format/json_reader.h"

#include <charconv>
#include <limits>

#include "ckpt/format/json_writer.h"

#if defined(__SSE2__)
#define RAPIDJSON_SSE2
#endif
#include <rapidjson/error/en.h>
#include <rapidjson/reader.h>

namespace titan::ckpt {
namespace {
constexpr std::size_t kMaxDepth = 64;
constexpr std::size_t kPadding = 32;  // the parser reads whole vectors
}

// Receives RapidJSON's events. A flat token list costs little beside the parsing and lets decoders be plain top-down code;
// the packaged RapidJSON has no pull interface of its own.
struct JsonReader::Tokens {
  std::vector<Token>& out;
  std::size_t depth = 0;

  bool add(Kind kind, std::uint64_t number = 0) {
    out.push_back({{number}, 0, kind});
    return true;
  }
  bool add_text(Kind kind, const char* text, unsigned length) {
    Token token{{0}, length, kind};
    token.text = text;
    out.push_back(token);
    return true;
  }
  bool Null() { return add(Kind::kNull); }
  bool Bool(bool value) { return add(value ? Kind::kTrue : Kind::kFalse); }
  bool Int(int value) { return Int64(value); }
  bool Uint(unsigned value) { return add(Kind::kUnsigned, value); }
  bool Int64(std::int64_t value) { return add(value < 0 ? Kind::kSigned : Kind::kUnsigned, static_cast<std::uint64_t>(value)); }
  bool Uint64(std::uint64_t value) { return add(Kind::kUnsigned, value); }
  bool Double(double value) {
    add(Kind::kReal);
    out.back().real = value;
    return true;
  }
  bool RawNumber(const char*, unsigned, bool) { return false; }
  bool String(const char* text, unsigned length, bool) { return add_text(Kind::kText, text, length); }
  bool Key(const char* text, unsigned length, bool) { return add_text(Kind::kKey, text, length); }
  // Refusing here also bounds the parser's recursion.
  bool StartObject() { return ++depth <= kMaxDepth && add(Kind::kBegin); }
  bool EndObject(unsigned) { return --depth, add(Kind::kEnd); }
  bool StartArray() { return ++depth <= kMaxDepth && add(Kind::kBeginList); }
  bool EndArray(unsigned) { return --depth, add(Kind::kEndList); }
};

JsonReader::JsonReader(std::string what, std::string_view text) : what_(std::move(what)) {
  buffer_.reserve(text.size() + kPadding);
  buffer_ = text;
  // A NUL would end the in-place stream early and hide what follows.
  if (const auto nul = buffer_.find('\0'); nul != std::string::npos) {
    fail("a NUL byte at offset " + std::to_string(nul));
    return;
  }
  if (!is_utf8(buffer_)) {
    fail("the text is not UTF-8");
    return;
  }
  tokens_.reserve(text.size() / 8 + 16);
  Tokens handler{tokens_};
  rapidjson::InsituStringStream stream(buffer_.data());
  rapidjson::Reader reader;
  constexpr unsigned kFlags = rapidjson::kParseInsituFlag | rapidjson::kParseFullPrecisionFlag;
  const rapidjson::ParseResult result = reader.Parse<kFlags>(stream, handler);
  if (result.IsError()) {
    const bool too_deep = result.Code() == rapidjson::kParseErrorTermination;
    tokens_.clear();
    fail("not valid JSON at offset " + std::to_string(result.Offset()) + ": " +
         (too_deep ? "nested too deeply" : rapidjson::GetParseError_En(result.Code())));
  }
}

void JsonReader::fail(const std::string& message) { fail(corrupt(what_ + ": " + message)); }

void JsonReader::fail(Status status) {
  if (!ok()) return;
  status_ = std::move(status);
  next_ = tokens_.size();
}

void JsonReader::mismatch(const char* expected) {
  fail(std::string("expected ") + expected + (next_ < tokens_.size() ? "" : ", found the end"));
}

std::uint64_t JsonReader::u64() {
  const Token* token = take(Kind::kUnsigned, "an integer that is not negative");
  return token ? token->number : 0;
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
  if (ok() && (error != std::errc() || end != digits.data() + digits.size())) fail("expected a decimal number as a string");
  return value;
}

double JsonReader::real() {
  if (at(Kind::kReal)) return tokens_[next_++].real;
  if (at(Kind::kUnsigned)) return static_cast<double>(tokens_[next_++].number);
  if (at(Kind::kSigned)) return static_cast<double>(static_cast<std::int64_t>(tokens_[next_++].number));
  fail("expected a number");
  return 0;
}

bool JsonReader::boolean() {
  if (at(Kind::kTrue)) return ++next_, true;
  take(Kind::kFalse, "true or false");
  return false;
}

bool JsonReader::null() {
  if (!at(Kind::kNull)) return false;
  ++next_;
  return true;
}

std::string_view JsonReader::text() {
  const Token* token = take(Kind::kText, "a string");
  return token ? std::string_view(token->text, token->length) : std::string_view();
}

Digest JsonReader::digest() {
  const std::string_view hex = text();
  if (!ok()) return {};
  auto parsed = parse_digest(hex);
  if (!parsed.ok()) {
    fail("expected a digest of 32 lower-case hex digits");
    return {};
  }
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
  std::size_t depth = 0;
  do {
    if (next_ >= tokens_.size()) return fail("expected a value, found the end");
    const Kind kind = tokens_[next_++].kind;
    if (kind == Kind::kBegin || kind == Kind::kBeginList) ++depth;
    if (kind == Kind::kEnd || kind == Kind::kEndList) --depth;
  } while (depth > 0);
}

bool SeenKeys::is(std::string_view key, unsigned bit, std::string_view name) {
  if (key != name) return false;
  if (has(bit)) reader_.fail("key '" + std::string(name) + "' twice in " + std::string(object_));
  bits_ |= std::uint64_t{1} << bit;
  return true;
}

void SeenKeys::require(unsigned bit, std::string_view name) {
  if (reader_.ok() && !has(bit)) reader_.fail("key '" + std::string(name) + "' missing in " + std::string(object_));
}

}  // namespace titan::ckpt
