#pragma once
// What a start does about a step that one rank found damaged or unreadable: another one looks, before it is passed
// over.
#include "libtrain/engine/train/run_state.h"

namespace titan::train {

/// Reads the last step of a run that has nothing left to train, and a second rank what the first met. Collective.
/// \error throws StatusError
void prove_last_step(RunState& run);

/// Behind a media error of which every rank has heard: another rank than the one that met it reads the same place.
/// Collective. \error throws StatusError where the step is not passed over
void pass_over(RunState& run, const ckpt::Status& error);

/// Behind damage of which every rank has heard: another rank reads from the store what the one that met it had loaded.
/// Collective. \error throws StatusError where that is whole: a node with bad memory must not cost a step
void confirm_damage(RunState& run, const ckpt::Status& error);

}  // namespace titan::train
