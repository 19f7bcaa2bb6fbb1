#pragma once
// A JSON pull parser (RFC 8259): strict syntax and UTF-8, exact 64-bit integers, exact doubles, bounded depth. It keeps
// no document in memory. Decoders read the text in order. After the first error every call returns an empty value, so a
// decoder only has to check finish() at its end.
//
// Why no library is used, measured on a manifest of 10,000 tensors (1.8 MB), which must be read within 10 ms: the
// packaged RapidJSON (1.1.0) has no pull interface, and collecting its events as tokens took twice as long as this
// reader. simdjson's On-Demand (3.0.1) with the same interface passed the same tests but took 7.2 ms instead of 5.4 ms
// to parse, and 12.0 ms instead of 10.0 ms with decoding and checks. It is packaged as a shared library only, which
// titan-ckpt must not load.
#include <cstdint>
#include <deque>
#include <functional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "ckpt/base/hash.h"
#include "ckpt/base/result.h"

namespace titan::ckpt {

/// Reads a JSON text value by value. It has many functions because each kind of value has its own.
class JsonReader {
 public:
  /// Reads `text`, which must outlive the reader. `what` names the text in messages.
  JsonReader(std::string what, std::string_view text);
  JsonReader(const JsonReader&) = delete;
  JsonReader& operator=(const JsonReader&) = delete;

  bool ok() const { return status_.ok(); }
  /// Checks that nothing follows the value; returns ok or the first error. \error kCorrupt, or the Status given to
  /// fail()
  const Status& finish();
  /// Records an error at the present position, unless there is an earlier error.
  void fail(const std::string& message);
  void fail(Status status);

  /// Reads an object; `member` is called with each key in order and must consume its value (skip() for unknown keys).
  template <typename Member>
  void object(Member&& member) {
    if (!open('{', "an object")) return;
    for (bool first = true; more(first, '}'); first = false) {
      const std::string_view key = text();
      if (!take(':')) return unexpected("':' after a key");
      member(key);
    }
    --depth_;
  }

  /// Reads an array; `element` is called with each index and must consume the element.
  template <typename Element>
  void array(Element&& element) {
    if (!open('[', "a list")) return;
    for (std::size_t i = 0; more(i == 0, ']'); ++i) element(i);
    --depth_;
  }

  std::uint64_t u64();
  std::uint32_t u32();
  std::uint64_t u64_string();  ///< a u64 written as a decimal string
  double real();
  std::string_view number();  ///< the text of any number
  bool boolean();
  bool null();              ///< true if null is next, which is then consumed
  std::string_view text();  ///< valid while both this reader and its text exist
  Digest digest();
  std::vector<std::pair<std::string, std::string>> string_map();  ///< keys must ascend
  /// As string_map(), but `member` gets the size in bytes of each key with its value, and may call fail().
  std::vector<std::pair<std::string, std::string>> string_map(const std::function<void(std::size_t bytes)>& member);
  std::vector<std::string> string_list();
  void skip();   ///< skips any value
  char peek() {  ///< the first character of the next value; 0 at the end
    skip_space();
    return at_ < end_ ? *at_ : '\0';
  }

 private:
  void skip_space() {
    while (at_ < end_ && (*at_ == ' ' || *at_ == '\n' || *at_ == '\r' || *at_ == '\t')) ++at_;
  }
  bool take(char c) {
    if (peek() != c || at_ == end_) return false;
    ++at_;
    return true;
  }
  bool open(char bracket, const char* expected) {
    if (take(bracket) && ++depth_ <= kMaxDepth) return true;
    return refuse(expected);
  }
  // True when another member follows; consumes the comma before it, or the closing bracket.
  bool more(bool first, char close) {
    if (!ok() || take(close)) return false;
    if (first || take(',')) return true;
    unexpected(close == '}' ? "',' or '}'" : "',' or ']'");
    return false;
  }
  bool refuse(const char* expected);  // the error of open(); returns false
  bool literal(std::string_view word);
  void unexpected(const char* expected);
  void count_string();  // counts the strings of lists and maps: their number is bounded
  std::string_view no_text(const char* why);
  std::string_view escaped(const char* begin);
  bool escape(std::string& out);
  bool hex4(std::uint32_t& value);

  std::string what_;
  const char* begin_;
  const char* at_;
  const char* end_;
  int depth_ = 0;
  static constexpr int kMaxDepth = 64;
  std::size_t strings_ = 0;
  std::deque<std::string> decoded_;  // strings with escapes; a deque, so that their addresses stay
  Status status_;
};

/// Checks an object's keys: each known key at most once, all required keys present. Used by read_object
/// (json_fields.h).
class SeenKeys {
 public:
  SeenKeys(JsonReader& reader, const char* object) : reader_(reader), object_(object) {}
  /// True when `key` is `name`; marks bit `bit` and records an error when it was already marked.
  bool is(std::string_view key, unsigned bit, std::string_view name) {
    if (key != name) return false;
    if (has(bit)) twice(name);
    bits_ |= std::uint64_t{1} << bit;
    return true;
  }
  bool has(unsigned bit) const { return (bits_ >> bit & 1) != 0; }
  void require(unsigned bit, const char* name) {
    if (!has(bit)) missing(name);
  }

 private:
  void twice(std::string_view name);
  void missing(const char* name);

  JsonReader& reader_;
  const char* object_;
  std::uint64_t bits_ = 0;
};

}  // namespace titan::ckpt
