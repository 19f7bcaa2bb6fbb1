#pragma once
// Warns before a checkpoint exceeds the limits of readers. \source FORMAT.md, "manifest.json"
#include <cstdint>
#include <string>
#include <vector>

#include "ckpt/format/manifest.h"

namespace titan::ckpt {

/// Bytes of memory that a reader counts for each member, parameter, stored tensor, piece, setting (also component and
/// merged source) and stage cut. Lengths of names and settings are added. The limit of the sum is kMaxManifestMemory.
inline constexpr std::uint64_t kFileCost = 400, kParameterCost = 260, kTensorCost = 100, kPieceCost = 200,
                               kSettingCost = 160, kSmallCost = 100;

/// One warning for each JSON member that is larger than half of the readers' size limit for it, and one if the manifest
/// needs more than half of kMaxManifestMemory.
std::vector<std::string> near_limits(const Manifest& manifest);

}  // namespace titan::ckpt
