#pragma once
// Writes JSON text in a fixed form: keys in call order, doubles in shortest round-trip form, line breaks on request.
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "ckpt/base/hash.h"

namespace titan::ckpt {

/// Appends JSON to a text. It has many functions because each type of value has its own.
class JsonWriter {
 public:
  JsonWriter& begin() { return open('{'); }
  JsonWriter& end() { return close('}'); }
  JsonWriter& begin_list() { return open('['); }
  JsonWriter& end_list() { return close(']'); }
  JsonWriter& line();  ///< breaks the line before the next key, element or closing bracket
  JsonWriter& key(std::string_view name);
  JsonWriter& value(std::string_view text);  ///< bytes that are not UTF-8 become U+FFFD
  JsonWriter& value(const char* text) { return value(std::string_view(text)); }
  JsonWriter& value(std::uint64_t number);
  JsonWriter& value(std::uint32_t number) { return value(std::uint64_t{number}); }
  JsonWriter& value(double number);  ///< NaN and infinity become null
  JsonWriter& value(bool truth) { return json(truth ? "true" : "false"); }
  JsonWriter& value(const Digest& digest) { return value(std::string_view(digest.hex())); }
  JsonWriter& json(std::string_view text);  ///< writes `text`, a JSON value, unchanged
  JsonWriter& null() { return json("null"); }
  JsonWriter& value(const std::optional<double>& number) { return number ? value(*number) : null(); }
  JsonWriter& value(const std::vector<std::pair<std::string, std::string>>& entries);  ///< an object, one line an entry
  template <typename T>
  JsonWriter& value(const std::vector<T>& entries) {
    begin_list();
    for (const T& entry : entries) value(entry);
    return end_list();
  }
  /// Takes a key, its value, the next key, its value, and so on.
  template <typename Value, typename... More>
  JsonWriter& members(std::string_view name, const Value& first, const More&... more) {
    key(name).value(first);
    if constexpr (sizeof...(more) > 0) members(more...);
    return *this;
  }
  /// As members(), each key on a line of its own.
  template <typename Value, typename... More>
  JsonWriter& lines(std::string_view name, const Value& first, const More&... more) {
    line().key(name).value(first);
    if constexpr (sizeof...(more) > 0) lines(more...);
    return *this;
  }

  /// Returns the text, ended by a newline.
  std::string finish() &&;

 private:
  void separate();
  JsonWriter& open(char bracket);
  JsonWriter& close(char bracket);
  std::string out_;
  bool comma_ = false;
  bool line_ = false;
};

/// `text` as a JSON string, quotes included; bytes that are not UTF-8 become U+FFFD.
std::string json_string(std::string_view text);

}  // namespace titan::ckpt
