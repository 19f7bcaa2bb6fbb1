#pragma once
// Limits how deeply a TOML text nests; the check itself does not recurse. The TOML parser recurses once per part of a
// dotted key and has no limit of its own.
#include <string>
#include <string_view>

#include "ckpt/base/status.h"

namespace titan::ckpt {

/// Limit on the parts of one dotted key, and on the arrays and inline tables around one value.
inline constexpr unsigned kMaxTomlDepth = 64;

/// Refuses a text that nests deeper than kMaxTomlDepth; checks no other syntax. `path` names the text in the message.
/// \error kInvalid with path and line
Status check_toml_depth(std::string_view text, const std::string& path);

}  // namespace titan::ckpt
