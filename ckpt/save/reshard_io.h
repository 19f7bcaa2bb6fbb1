#pragma once
// Executes a reshard plan: writes the shards and JSON members of the new checkpoint into a folder, and checks that the
// state is unchanged. rewrite.h handles locks, names and publishing.
#include <string>

#include "ckpt/read/reader.h"
#include "ckpt/save/leaf_mover.h"

namespace titan::ckpt {

/// Fills the empty `folder` from `source` and returns the manifest of the new checkpoint; its `created`, `writer` and
/// `derived_from` are still those of the source. Syncs every file, but not the component folders. The digests of
/// tensors and components and the id are computed again from the moved leaves and must equal the source's.
/// \error kCorrupt, which names the leaf, table, tensor, member or id that does not match; kFailed; the errors of the
/// hooks
Result<Manifest> write_resharded(Fs& fs, const CheckpointReader& source, const ReshardPlan& plan, const MovePlan& moves,
                                 const std::string& folder, const MoveHooks& hooks, MoveCounts& counts);

}  // namespace titan::ckpt
