#pragma once
// Decoding of manifest.json. \source FORMAT.md, "manifest.json"
#include <string>
#include <string_view>

#include "ckpt/base/result.h"
#include "ckpt/format/manifest.h"

namespace titan::ckpt {

/// Checks the self-digest, then decodes `text` and checks the rules of FORMAT.md for a manifest. `what` names the text
/// in messages.
/// \error kCorrupt (self-digest, syntax, a broken rule), kIncompatible (newer major, unknown feature, element order,
/// codec or role of a member)
Result<Manifest> decode_manifest(const std::string& what, std::string_view text);

}  // namespace titan::ckpt
