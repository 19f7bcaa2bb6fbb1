#pragma once
// A run takes its tensors from a checkpoint again, while it trains.
#include <string>

#include "libtrain/engine/train/run_state.h"

namespace titan::train {

/// Weights and, with `moments`, Adam's moments of the checkpoint `id` at `path`; without, moments of zero. Rank 0 alone
/// looks for it, and knows its id; the others read by its manifest, whose digests they check. Collective. \error
/// StatusError on all ranks together, kIncompatible where another checkpoint lies there by now; also where one is asked
/// to stop meanwhile, and the tensors are of no step then
void reload(RunState& run, const std::string& path, const ckpt::Digest& id, bool moments);

}  // namespace titan::train
