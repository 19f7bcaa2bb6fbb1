#pragma once
// From a configuration to a rank that is ready for its first step: peers, run folder, where to start, state, banner.
#include "libtrain/engine/train/run_state.h"

namespace titan::train {

enum class StartOutcome { kReady, kComplete, kStopped };

/// Fills `run`; collective. kComplete: the checkpoint is already at training.steps, nothing was built. kStopped: a
/// stop signal came, and nothing is to be saved.
/// \error throws StatusError, CommError.
StartOutcome start_run(RunState& run);

}  // namespace titan::train
