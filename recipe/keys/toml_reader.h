#pragma once
// Parses TOML text to flat entries (dotted key, value, position). Only toml_reader.cpp uses the library toml++.
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "ckpt/base/result.h"
#include "recipe/keys/value.h"

namespace titan::recipe {

struct TomlPosition {
  std::uint32_t line = 0, column = 0;  ///< 1-based
  auto operator<=>(const TomlPosition&) const = default;
};

inline constexpr const char* kEmptyTable = "an empty table";  ///< Value::Other::kind of an empty table

/// One key of a file.
struct TomlEntry {
  std::string key;  ///< "section.key"
  Value value;      ///< an empty table is an entry, too
  TomlPosition key_at, value_at;
};

/// Parses a whole file into entries in file order. \error kInvalid: not TOML ("path:line:column: ...").
ckpt::Result<std::vector<TomlEntry>> parse_toml(std::string_view text, const std::string& path);

/// Reads the value of one override: a TOML value if the text is exactly one, else the text itself as a string ("llama",
/// "07", "True", and any text that would add a second key).
Value parse_override_value(const std::string& text);

}  // namespace titan::recipe
