#pragma once
// A small JSON document as a value, for config.json and similar files. A document that is written back keeps the order
// of its keys and the spelling of its numbers. Not for large texts.
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "ckpt/base/result.h"

namespace titan::ckpt {

/// A JSON value. It has many functions because each kind of value is created and read by functions of its own.
class JsonValue {
 public:
  enum class Kind { kNull, kTrue, kFalse, kNumber, kText, kList, kObject };
  using Member = std::pair<std::string, JsonValue>;

  JsonValue() = default;
  static JsonValue boolean(bool value);
  static JsonValue integer(std::uint64_t value);
  static JsonValue real(double value);  ///< always with a point or an exponent, as Python writes floats
  static JsonValue string(std::string value);
  static JsonValue list(std::vector<JsonValue> items);
  static JsonValue object() { return JsonValue(Kind::kObject); }

  Kind kind() const { return kind_; }
  bool is_null() const { return kind_ == Kind::kNull; }
  bool is_object() const { return kind_ == Kind::kObject; }
  const std::string* text() const { return kind_ == Kind::kText ? &text_ : nullptr; }
  std::optional<bool> as_bool() const;
  std::optional<std::uint64_t> as_u64() const;  ///< a non-negative whole number; "8192.0" counts as one
  std::optional<double> as_double() const;
  const std::vector<JsonValue>& items() const { return items_; }
  const std::vector<Member>& members() const { return members_; }

  /// The member `key` of an object; nullptr when it is missing or null.
  const JsonValue* find(std::string_view key) const;
  void set(std::string_view key, JsonValue value);  ///< replaces the value of the key, or appends the key
  void remove(std::string_view key);

  /// JSON text, indented by two spaces, ending in a newline.
  std::string write() const;
  bool operator==(const JsonValue&) const = default;

 private:
  friend class JsonParser;
  explicit JsonValue(Kind kind, std::string text = {}) : kind_(kind), text_(std::move(text)) {}
  void append(std::string& out, int indent) const;

  Kind kind_ = Kind::kNull;
  std::string text_;  // the text, or the digits of a number
  std::vector<JsonValue> items_;
  std::vector<Member> members_;
};

class JsonReader;
/// Reads the next value of `json`. Keys of an object must be unique. Records errors in `json` (JsonReader::fail).
JsonValue read_json_value(JsonReader& json);
/// Parses `json`; keys of an object must be unique. `what` names the text in messages. \error kCorrupt
Result<JsonValue> parse_json(const std::string& what, std::string_view json);

}  // namespace titan::ckpt
