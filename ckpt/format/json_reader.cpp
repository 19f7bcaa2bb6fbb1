#include "ckpt/format/json_reader.h"

#include <charconv>
#include <limits>

#include <rapidjson/error/en.h>
#include <rapidjson/reader.h>

namespace titan::ckpt {
namespace {
constexpr std::size_t kMaxDepth = 64;
}

// Receives RapidJSON's events. A flat token list costs about a millisecond per 10,000 tensors and lets decoders be plain
// top-down code; the packaged RapidJSON has no pull interface of its own.
struct JsonReader::Tokens {
  std::vector<Token>& out;
  std::size_t depth = 0;

  bool add(Kind kind) {
    Token token;
    token.number = 0;
    token.kind = kind;
    out.push_back(token);
    return true;
  }
  bool add_number(std::uint64_t value) {
    add(Kind::kUnsigned);
    out.back().number = value;
    return true;
  }
  bool add_signed(std::int64_t value) {
    add(Kind::kSigned);
    out.back().number = static_cast<std::uint64_t>(value);
    return true;
  }
  bool add_text(Kind kind, const char* text, unsigned length) {
    add(kind);
    out.back().text = text;
    out.back().length = length;
    return true;
  }
  bool Null() { return add(Kind::kNull); }
  bool Bool(bool value) { return add(value ? Kind::kTrue : Kind::kFalse); }
  bool Int(int value) { return value < 0 ? add_signed(value) : add_number(static_cast<std::uint64_t>(value)); }
  bool Uint(unsigned value) { return add_number(value); }
  bool Int64(std::int64_t value) { return value < 0 ? add_signed(value) : add_number(static_cast<std::uint64_t>(value)); }
  bool Uint64(std::uint64_t value) { return add_number(value); }
  bool Double(double value) {
    add(Kind::kReal);
    out.back().real = value;
    return true;
  }
  bool RawNumber(const char*, unsigned, bool) { return false; }
  bool String(const char* text, unsigned length, bool) { return add_text(Kind::kText, text, length); }
  bool Key(const char* text, unsigned length, bool) { return add_text(Kind::kKey, text, length); }
  bool StartObject() { return ++depth <= kMaxDepth && add(Kind::kBegin); }
  bool EndObject(unsigned) { return --depth, add(Kind::kEnd); }
  bool StartArray() { return ++depth <= kMaxDepth && add(Kind::kBeginList); }
  bool EndArray(unsigned) { return --depth, add(Kind::kEndList); }
};

JsonReader::JsonReader(std::string what, std::string_view text) : what_(std::move(what)), buffer_(text) {
  // A NUL would end the in-place stream early and hide what follows.
  if (const auto nul = buffer_.find('\0'); nul != std::string::npos) {
    fail("a NUL byte at offset " + std::to_string(nul));
    return;
  }
  tokens_.reserve(text.size() / 8 + 16);
  Tokens handler{tokens_};
  rapidjson::InsituStringStream stream(buffer_.data());
  rapidjson::Reader reader;
  constexpr unsigned kFlags = rapidjson::kParseInsituFlag | rapidjson::kParseIterativeFlag | rapidjson::kParseValidateEncodingFlag |
                              rapidjson::kParseFullPrecisionFlag;
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

const JsonReader::Token* JsonReader::take(Kind kind, const char* expected) {
  if (ok() && at(kind)) return &tokens_[next_++];
  fail(std::string("expected ") + expected + (next_ < tokens_.size() ? "" : ", found the end"));
  return nullptr;
}

void JsonReader::object(const std::function<void(std::string_view)>& member) {
  if (!take(Kind::kBegin, "an object")) return;
  while (ok() && !at(Kind::kEnd)) {
    const Token* key = take(Kind::kKey, "a key");
    if (key) member({key->text, key->length});
  }
  take(Kind::kEnd, "the end of an object");
}

void JsonReader::array(const std::function<void(std::size_t)>& element) {
  if (!take(Kind::kBeginList, "a list")) return;
  for (std::size_t i = 0; ok() && !at(Kind::kEndList); ++i) element(i);
  take(Kind::kEndList, "the end of a list");
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
