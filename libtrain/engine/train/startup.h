#pragma once
// From a configuration to a rank that is ready for its first step: peers, run folder, where to start, state, banner.
// Each function is one step of a start; all of them are called on every rank, unless they say otherwise.
#include "libtrain/engine/train/run_state.h"

namespace titan::train {

enum class StartOutcome { kReady, kComplete, kStopped };

/// Fills `run`; collective. kComplete: the checkpoint is already at training.steps, and nothing was built. kStopped: a
/// stop signal came, and there is nothing to save. \error throws StatusError, CommError.
StartOutcome start_run(RunState& run);

/// Takes the lock of the run, decides from which step it resumes, and opens the checkpoint to load. Rank 0 looks at
/// files and sends the others its decision with the manifest. Collective. \error throws StatusError
void choose_start(RunState& run);
/// Decides settings, plan and data, on every rank by itself. If one rank refuses, for example because its configuration
/// or its copy of the data differs, all ranks get the error. Collective. \error throws StatusError
void settle(RunState& run);

/// Reads the last step of a run that has nothing left to train. An error that one rank meets is checked by a second
/// rank. Collective. \error throws StatusError
void prove_last_step(RunState& run);
/// After a media error that every rank knows of: a rank other than the one that met the error reads the same place.
/// Collective. \error throws StatusError if the step is not passed over
void pass_over(RunState& run, const ckpt::Status& error);
/// After damage that every rank knows of: another rank reads from the store what the rank that met the damage had
/// loaded. Collective. \error throws StatusError if the other rank finds it whole: a node with bad memory must not cost
/// a step
void confirm_damage(RunState& run, const ckpt::Status& error);

/// Makes the folder of checkpoint.near, once the lock of the run is held, and sets `near_folder`. Does nothing if
/// checkpoint.near is not set. Collective. \error on all ranks: not an absolute path (kInvalid); not one folder for all
/// ranks (kUnsupported); I/O
void open_near_folder(RunState& run);
/// Starts the thread that copies near steps to the run folder. It begins with the steps that the run folder lacks, up
/// to the one that the run resumes from. `damaged`: steps of the run folder that are damaged. Rank 0 only.
void begin_copies(RunState& run, const std::set<std::uint64_t>& damaged);
/// Copies the step of `start.decision` to the run folder if the run folder lacks it. The next decision then takes it
/// from the run folder. Collective. \error as ckpt::copy_step, on all ranks
void bring_home(RunState& run);
/// Removes the near folder of a run that is complete and whose last step is durable. Rank 0 only.
void leave_near(const RunState& run);
/// The path that the step of `start.decision` has, or would have, in the run folder.
std::string durable_path(const RunState& run);

/// Makes the publish hook. `own`: the step that the run resumes from is its own; it is published now if its publish
/// command never ended well. Rank 0 only.
void begin_publishing(RunState& run, bool own);
/// Tells saves and deletions of this run about the steps that exist already, and begins publishing.
void keep_house(RunState& run);

/// Adds this start to the history of the run, with what may change its bits.
void begin_attempt(RunState& run);
/// Rank 0 prints warnings of plan and data, changed settings, and the banner.
void announce(RunState& run);

}  // namespace titan::train
