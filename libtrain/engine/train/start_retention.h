#pragma once
// Begins retention, publishing, and the copies from the near folder. Both functions take part in a start.
#include "libtrain/engine/train/run_state.h"

namespace titan::train {

/// Creates the hook that runs the command checkpoint.on_publish after a save. `own`: the run resumes from a step of its
/// own. If the command never succeeded for that step, it is run now. Rank 0 only.
void begin_publishing(RunState& run, bool own);

/// Starts retention, publishing and copies. Tells retention and the checkpointer which existing steps are damaged.
void start_retention(RunState& run);

}  // namespace titan::train
