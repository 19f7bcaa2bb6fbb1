#pragma once
// How near a checkpoint is to what readers take. \source FORMAT.md, "manifest.json"
#include <cstdint>
#include <string>
#include <vector>

#include "ckpt/format/manifest.h"

namespace titan::ckpt {

/// Bytes that a reader of a manifest counts for each of these, beside the lengths of names and settings.
inline constexpr std::uint64_t kFileCost = 400, kParameterCost = 260, kTensorCost = 100, kPieceCost = 200,
                               kSettingCost = 160, kSmallCost = 100;

/// What is beyond half of its limit, one line each: JSON members, and the manifest.
std::vector<std::string> near_limits(const Manifest& manifest);

}  // namespace titan::ckpt
