#pragma once
// Manifests for tests, made without files.
#include <cstdint>
#include <string>

#include "ckpt/format/manifest.h"

namespace titan::ckpt::testing {

/// Two tensors with slots on 2 x 2 ranks, JSON components, files by path; leaves of 100 elements.
Manifest small_manifest();

/// About `stored_tensors` stored tensors (parameters with two slots each) over `ranks` ranks.
Manifest large_manifest(std::uint64_t stored_tensors, std::uint32_t ranks);

/// The text of small_manifest() with the first `from` replaced by `to` and a right self-digest.
std::string edited(const std::string& from, const std::string& to);

}  // namespace titan::ckpt::testing
