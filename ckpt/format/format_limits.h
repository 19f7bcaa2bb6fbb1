#pragma once
// Warns before a checkpoint exceeds the limits of readers. \source FORMAT.md, "manifest.json"
#include <cstdint>
#include <string>
#include <vector>

#include "ckpt/format/manifest.h"

namespace titan::ckpt {

/// The bytes that a reader of a manifest counts for each item. Lengths of names and settings are added.
inline constexpr std::uint64_t kFileCost = 400, kParameterCost = 260, kTensorCost = 100, kPieceCost = 200,
                               kSettingCost = 160, kSmallCost = 100;

/// One warning for each JSON member, and for the manifest, that uses more than half of its limit.
std::vector<std::string> near_limits(const Manifest& manifest);

}  // namespace titan::ckpt
