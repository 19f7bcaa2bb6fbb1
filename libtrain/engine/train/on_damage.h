#pragma once
// What a start does when a step turns out to be damaged or unreadable. All functions are called on every rank.
#include "libtrain/engine/train/run_state.h"

namespace titan::train {

/// Reads the last step of a run that is complete, and checks all digests. If rank 0 finds damage, a second rank reads
/// the step again. Collective. \error throws StatusError: the damage, or that only rank 0 found it
void prove_last_step(RunState& run);

/// Handles a media error (EIO) that a load met on some rank, once all ranks have the error: another rank reads the same
/// place. If that rank fails too, the step is added to run.lost, so that the next choose_start() skips it. Collective.
/// \error throws StatusError if the step is not to be skipped
void skip_unreadable_step(RunState& run, const ckpt::Status& error);

/// Confirms damage that a load found on some rank, once all ranks have the error: another rank reads the leaves that
/// the first one had loaded. Collective. \error throws StatusError if the other rank finds no damage: the cause may be
/// bad memory of the first rank's host, which must not make the run skip a good step
void confirm_damage(RunState& run, const ckpt::Status& error);

}  // namespace titan::train
