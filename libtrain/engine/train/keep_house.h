#pragma once
// What rank 0 does with the steps of a run beside saving them: deletions, and the command that follows a publish.
#include "libtrain/engine/train/run_state.h"

namespace titan::train {

/// Makes the hook. Where `own`, the step that the run goes on from is its own, and is published now where an earlier
/// start did not see the command end well. Rank 0 only.
void begin_publishing(RunState& run, bool own);

/// What saves and deletions of this run have to know of the steps that were there; publishing begins.
void keep_house(RunState& run);

}  // namespace titan::train
