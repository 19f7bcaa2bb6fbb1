#pragma once
// From which step a run goes on, and with which settings: rank 0 decides, all agree.
#include "libtrain/engine/train/run_state.h"

namespace titan::train {

/// Decides under the lock of the run, and opens what is to be loaded. Rank 0 looks at files; the others take its word,
/// the manifest included. Collective. \error throws StatusError
void choose_start(RunState& run);

/// The rest of the decision, on every rank by itself: settings, plan, data. What one rank alone refuses, since its
/// configuration or its copies are others, all hear of. Collective. \error throws StatusError
void settle(RunState& run);

}  // namespace titan::train
