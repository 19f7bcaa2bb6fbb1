#pragma once
// The manifest that a plan makes, before anything is written.
#include "converters/format.h"

namespace titan::convert {

/// Everything of the manifest but files, pieces, digests, components, writer and time.
ckpt::Manifest frame_manifest(const ForeignCheckpoint& source, const ImportPlan& plan, std::uint64_t leaf_elements);

}  // namespace titan::convert
