#pragma once
// Start of a run, from the configuration to a rank that is ready for its first step: peers, run folder, start step,
// state, banner. Each function is one phase of a start. All are called on every rank, unless stated otherwise.
#include "libtrain/engine/train/run_state.h"

namespace titan::train {

enum class StartOutcome { kReady, kComplete, kStopped };

/// Fills `run`; collective. kComplete: the checkpoint is already at training.steps, and nothing was built. kStopped: a
/// stop signal came, and there is nothing to save. \error throws StatusError, CommError.
StartOutcome start_run(RunState& run);

/// Takes the lock of the run, decides from which step it resumes, and opens the checkpoint to load. Rank 0 looks at
/// files and sends the others its decision with the manifest. Collective. \error throws StatusError
void choose_start(RunState& run);
/// Decides settings, plan and data, on every rank by itself. If one rank refuses (for example because its configuration
/// or its copy of the data differs), all ranks get the error. Collective. \error throws StatusError
void settle(RunState& run);

/// Reads the last step of a run that is complete. An error on one rank is checked by a second rank. Collective.
/// \error throws StatusError
void prove_last_step(RunState& run);
/// After a media error that every rank knows of: another rank than the one with the error reads the same place.
/// Collective. \error throws StatusError if the step is not skipped
void pass_over(RunState& run, const ckpt::Status& error);
/// After damage that every rank knows of: another rank reads from the store what the first rank had loaded. Collective.
/// \error throws StatusError if the other rank finds no damage, since bad memory of one node must not cost a step
void confirm_damage(RunState& run, const ckpt::Status& error);

/// Creates the folder of checkpoint.near, once the run lock is held, and sets `near_folder`. Does nothing if
/// checkpoint.near is not set. Collective. \error on all ranks: not an absolute path (kInvalid); not the same folder on
/// all ranks (kUnsupported); I/O
void open_near_folder(RunState& run);
/// Starts the thread that copies near steps to the run folder, beginning with steps that the run folder lacks, up to
/// the one that the run resumes from. `damaged`: damaged steps of the run folder. Rank 0 only.
void begin_copies(RunState& run, const std::set<std::uint64_t>& damaged);
/// Copies the step of `start.decision` to the run folder if it is not there, so that the next decision takes it from
/// the run folder. Collective. \error as ckpt::copy_step, on all ranks
void bring_home(RunState& run);
/// Removes the near folder of a run that is complete and whose last step is durable. Rank 0 only.
void leave_near(const RunState& run);
/// The path that the step of `start.decision` has, or would have, in the run folder.
std::string durable_path(const RunState& run);

/// Creates the publish hook. `own`: the run resumes from a step of its own; it is published now if its publish command
/// never succeeded. Rank 0 only.
void begin_publishing(RunState& run, bool own);
/// Passes the existing steps to saves and retention of this run, and starts publishing.
void start_retention(RunState& run);

/// Adds this start to the history of the run, with everything that may change its bits.
void begin_attempt(RunState& run);
/// Rank 0 prints warnings of plan and data, changed settings, and the banner.
void announce(RunState& run);

}  // namespace titan::train
