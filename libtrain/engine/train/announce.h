#pragma once
// What a start writes down of itself: in the state of the run, and in the log.
#include "libtrain/engine/train/run_state.h"

namespace titan::train {

/// Adds this start to the attempts in run.state, with everything on which the bits of results depend.
void begin_attempt(RunState& run);

/// Rank 0 logs the warnings of plan and data, changed settings, and the banner.
void announce(RunState& run);

}  // namespace titan::train
