#pragma once
// Formats single values as TOML: the canonical form in which settings are stored and compared.
#include <string>
#include <string_view>

namespace titan::ckpt {

/// Quotes and escapes `text` as a TOML basic string; the result has no ASCII control characters.
std::string toml_string(std::string_view text);
/// A TOML float that parses to the same double, without needless digits: "300.0", "0.0008", "1e-08".
std::string toml_float(double value);

}  // namespace titan::ckpt
