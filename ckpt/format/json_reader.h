#pragma once
// Pull reading of a JSON text: strict UTF-8, exact 64-bit integers, exact doubles, bounded depth.
// Decoders walk it in order; the first error sticks and every later call returns empty values, so that a decoder
// checks status() once at its end.
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "ckpt/base/hash.h"
#include "ckpt/base/result.h"

namespace titan::ckpt {

class JsonReader {
 public:
  /// Tokenises all of `text`. `what` names the text in messages.
  JsonReader(std::string what, std::string_view text);
  JsonReader(const JsonReader&) = delete;
  JsonReader& operator=(const JsonReader&) = delete;

  /// Ok, or the first error. \error kCorrupt
  const Status& status() const { return status_; }
  bool ok() const { return status_.ok(); }
  /// Records an error about the value being read; the first one wins.
  void fail(const std::string& message);
  void fail(Status status);

  /// Reads an object; `member` is called per key, in order, and must consume the value (skip() for unknown keys).
  void object(const std::function<void(std::string_view key)>& member);
  /// Reads an array; `element` is called per element with its index and must consume it.
  void array(const std::function<void(std::size_t index)>& element);

  std::uint64_t u64();
  std::uint32_t u32();
  std::uint64_t u64_string();  ///< a u64 written as a decimal string
  double real();
  bool boolean();
  bool null();                 ///< consumes a null when it is next and says whether it was
  std::string_view text();     ///< valid as long as this reader
  Digest digest();
  std::vector<std::pair<std::string, std::string>> string_map();  ///< keys must ascend
  std::vector<std::string> string_list();
  void skip();                 ///< any value

 private:
  enum class Kind : std::uint8_t { kNull, kFalse, kTrue, kUnsigned, kSigned, kReal, kText, kKey, kBegin, kEnd, kBeginList, kEndList };
  struct Token {
    union {
      std::uint64_t number;
      double real;
      const char* text;
    };
    std::uint32_t length = 0;
    Kind kind = Kind::kNull;
  };
  struct Tokens;

  const Token* take(Kind kind, const char* expected);
  bool at(Kind kind) const { return next_ < tokens_.size() && tokens_[next_].kind == kind; }

  std::string what_;
  std::string buffer_;         // decoded in place; tokens point into it
  std::vector<Token> tokens_;
  std::size_t next_ = 0;
  Status status_;
};

/// Checks an object's keys: each known key at most once, the required ones present.
/// Usage: `if (seen.is(key, 0, "id")) ... else reader.skip();`, then `seen.require(...)`.
class SeenKeys {
 public:
  SeenKeys(JsonReader& reader, std::string_view object) : reader_(reader), object_(object) {}
  /// True when `key` is `name`; marks bit `bit` and records an error when it was already marked.
  bool is(std::string_view key, unsigned bit, std::string_view name);
  bool has(unsigned bit) const { return (bits_ >> bit & 1) != 0; }
  void require(unsigned bit, std::string_view name);

 private:
  JsonReader& reader_;
  std::string_view object_;
  std::uint64_t bits_ = 0;
};

}  // namespace titan::ckpt
