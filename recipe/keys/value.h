#pragma once
// A configuration value before it is checked against the key table, and the TOML text of values. Does not use toml++.
#include <cstdint>
#include <string>
#include <variant>
#include <vector>

#include "ckpt/base/toml_text.h"

namespace titan::recipe {

/// A TOML value. Dates, times and tables are `Other`.
struct Value {
  /// The type ("a date", "a table"), and the text: of a table in a list, its members as "key=value key=value". No key
  /// accepts such a value, except a table in a list.
  struct Other {
    std::string kind, text;
    bool operator==(const Other&) const = default;
  };
  std::variant<bool, std::int64_t, double, std::string, std::vector<Value>, Other> data;
  bool operator==(const Value&) const = default;

  template <typename T>
  const T* as() const {
    return std::get_if<T>(&data);
  }
};

/// Returns "true", "12", "\"text\"", "[1, 2]": the value as a person writes it in a file.
std::string to_toml(const Value& value);
/// Returns "the integer 12", "the string \"ten\"", "a date": the value as an error message names it.
std::string describe(const Value& value);

inline constexpr const char* kTable = "a table";  ///< Value::Other::kind of a table

using ckpt::toml_float;
using ckpt::toml_string;

}  // namespace titan::recipe
