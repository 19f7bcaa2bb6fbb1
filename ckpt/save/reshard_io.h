#pragma once
// Carries out a reshard plan: writes the shards and JSON members of the new checkpoint into a folder and proves that it
// is the same state. Locks, names and publishing are rewrite.h's.
#include <string>

#include "ckpt/read/reader.h"
#include "ckpt/save/leaf_mover.h"

namespace titan::ckpt {

/// Fills `folder` (which is empty) from `source` and returns the manifest of the new checkpoint; `created`, `writer`
/// and `derived_from` are left as they are in the source. Every file is durable, the names in component folders are
/// not. The digests of tensors and components and the id are computed anew from what was moved and must be those of the
/// source.
/// \error kCorrupt naming the leaf, table, tensor, member or the id that does not hold; kFailed; what the hooks return
Result<Manifest> write_resharded(Fs& fs, const CheckpointReader& source, const ReshardPlan& plan, const MovePlan& moves,
                                 const std::string& folder, const MoveHooks& hooks, MoveCounts& counts);

}  // namespace titan::ckpt
