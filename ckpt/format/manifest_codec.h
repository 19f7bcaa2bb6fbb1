#pragma once
// Encoding of manifest.json. \source FORMAT.md, "manifest.json"
#include <string>
#include <string_view>

#include "ckpt/base/result.h"
#include "ckpt/format/manifest.h"

namespace titan::ckpt {

inline constexpr const char* kFormatName = "titan-checkpoint";
inline constexpr std::string_view kManifestPrefix = "{\"self_digest\":\"";  ///< the first bytes, in every version
const char* role_text(FileRole role);                                       ///< "shard", "json", "derived"

/// Encodes `manifest` with its self-digest. The minor version is Manifest::lowest_minor(), not `manifest.minor`. Equal
/// manifests give equal bytes.
std::string encode_manifest(const Manifest& manifest);

/// Checks that `text` begins like a manifest of any version, and that its self-digest matches. \error kCorrupt
Status check_self_digest(const std::string& what, std::string_view text);

/// Replaces the self-digest in `text`, a manifest that was edited, by the correct one. \error kCorrupt when the text
/// has none
Result<std::string> with_self_digest(std::string text);

}  // namespace titan::ckpt
