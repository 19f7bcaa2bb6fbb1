#pragma once
// A configuration value before it meets the key table, and the TOML text of values. Knows nothing of toml++.
#include <cstdint>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace titan::train {

/// A TOML value. Dates, tables and other things that no key takes are `Other`.
struct Value {
  /// Something that no key accepts: what it is ("a date", "a table") and how it was written, where known.
  struct Other {
    std::string kind, text;
    bool operator==(const Other&) const = default;
  };
  std::variant<bool, std::int64_t, double, std::string, std::vector<Value>, Other> data;
  bool operator==(const Value&) const = default;

  template <typename T>
  const T* as() const { return std::get_if<T>(&data); }
};

/// Returns "true", "12", "\"text\"", "[1, 2]": what a person would write in a file.
std::string to_toml(const Value& value);
/// Returns "the integer 12", "the string \"ten\"", "a date": the value as an error message names it.
std::string describe(const Value& value);

/// Quotes and escapes `text` as a TOML basic string; the result has no control characters.
std::string toml_string(std::string_view text);
/// Shortest text that reads back as the same double and is a TOML float ("300.0", "0.0008", "1e-08").
std::string toml_float(double value);

}  // namespace titan::train
