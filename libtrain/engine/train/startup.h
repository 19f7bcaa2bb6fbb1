#pragma once
// The start of a run, from the configuration to a rank that is ready for its first step.
#include "libtrain/engine/train/run_state.h"

namespace titan::train {

/// kReady: training can begin. kComplete: the checkpoint is already at training.steps or debug.stop_at_step, so there
/// is nothing to train. kStopped: a stop signal came, and there is nothing to save.
enum class StartOutcome { kReady, kComplete, kStopped };

/// Runs all parts of the start and fills `run`. Collective. \error throws StatusError, CommError
StartOutcome start_run(RunState& run);

}  // namespace titan::train
