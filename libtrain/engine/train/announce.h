#pragma once
// What a start says: the attempt in the history, and the lines of the log before the first step.
#include "libtrain/engine/train/run_state.h"

namespace titan::train {

/// Adds this start to the history of the run, with what may change its bits.
void begin_attempt(RunState& run);

/// Warnings of plan and data, changes, and the banner. Rank 0 says them, the others nothing.
void announce(RunState& run);

}  // namespace titan::train
