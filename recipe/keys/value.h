#pragma once
// A configuration value before it meets the key table, and the TOML text of values. Knows nothing of toml++.
#include <cstdint>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "ckpt/base/toml_text.h"

namespace titan::recipe {

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
  const T* as() const {
    return std::get_if<T>(&data);
  }
};

/// Returns "true", "12", "\"text\"", "[1, 2]": what a person would write in a file.
std::string to_toml(const Value& value);
/// Returns "the integer 12", "the string \"ten\"", "a date": the value as an error message names it.
std::string describe(const Value& value);

inline constexpr const char* kTable = "a table";  ///< kind of such a value

using ckpt::toml_float;
using ckpt::toml_string;

}  // namespace titan::recipe
