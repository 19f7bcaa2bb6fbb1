#pragma once
// The decisions of a start: the step, the settings, the plan and the data. All functions are called on every rank.
#include "libtrain/engine/train/run_state.h"

namespace titan::train {

/// Decides from which step the run resumes, and opens the checkpoint to load. Rank 0 looks at the run folder, and sends
/// its decision and the manifest to the other ranks. Collective. \error throws StatusError
void choose_start(RunState& run);

/// Decides settings, plan and data. Every rank does so itself; if one rank refuses (for example because its
/// configuration or its copy of the data differs), all ranks get the error. Collective. \error throws StatusError
void resolve_settings(RunState& run);

}  // namespace titan::train
