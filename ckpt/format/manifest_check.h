#pragma once
// Consistency rules of a manifest. \source FORMAT.md, "manifest.json"
#include "ckpt/base/status.h"
#include "ckpt/format/manifest.h"

namespace titan::ckpt {

/// Checks the consistency of a manifest: leaf grids, pieces, rows, byte ranges, members, components. decode_manifest()
/// calls it. \error kCorrupt, naming the part
Status check_manifest(const Manifest& manifest);

}  // namespace titan::ckpt
