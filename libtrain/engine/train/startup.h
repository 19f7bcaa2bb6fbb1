#pragma once
// From a configuration to a rank that is ready for its first step: peers, run folder, where to start, state, banner.
// The steps of that way stand in sources of their own; all of them run on every rank.
#include "libtrain/engine/train/run_state.h"

namespace titan::train {

enum class StartOutcome { kReady, kComplete, kStopped };

/// Fills `run`; collective. kComplete: the checkpoint is already at training.steps, nothing was built. kStopped: a
/// stop signal came, and nothing is to be saved.
/// \error throws StatusError, CommError.
StartOutcome start_run(RunState& run);

/// Decides under the lock of the run from which step it goes on, and opens what is to be loaded. Rank 0 looks at files;
/// the others take its word, the manifest included. Collective. \error throws StatusError
void choose_start(RunState& run);
/// The rest of the decision, on every rank by itself: settings, plan, data. What one rank alone refuses, since its
/// configuration or its copies are others, all hear of. Collective. \error throws StatusError
void settle(RunState& run);

/// Reads the last step of a run that has nothing left to train, and a second rank what the first met. Collective.
/// \error throws StatusError
void prove_last_step(RunState& run);
/// Behind a media error of which every rank has heard: another rank than the one that met it reads the same place.
/// Collective. \error throws StatusError where the step is not passed over
void pass_over(RunState& run, const ckpt::Status& error);
/// Behind damage of which every rank has heard: another rank reads from the store what the one that met it had loaded.
/// Collective. \error throws StatusError where that is whole: a node with bad memory must not cost a step
void confirm_damage(RunState& run, const ckpt::Status& error);

/// Makes the folder of checkpoint.near, once the lock of the run is held, and sets `near_folder`; nothing where none is
/// asked for.
/// Collective. \error on all ranks: no absolute path (kInvalid); not one folder for all ranks (kUnsupported); I/O
void open_near_folder(RunState& run);
/// The thread that copies begins, with the steps up to the one that the run goes on from which the run folder lacks.
/// `damaged`: steps of the run folder. Rank 0 only.
void begin_copies(RunState& run, const std::set<std::uint64_t>& damaged);
/// Copies the step of `start.decision` to the run folder, where that lacks it, and lets the next decision take it from
/// there. Collective. \error as ckpt::copy_step, on all ranks
void bring_home(RunState& run);
/// The run is complete, and its last step durable: the near folder goes. Rank 0 only.
void leave_near(const RunState& run);
/// Where the step of `start.decision` lies in the run folder, or would.
std::string durable_path(const RunState& run);

/// Makes the hook. Where `own`, the step that the run goes on from is its own, and is published now where an earlier
/// start did not see the command end well. Rank 0 only.
void begin_publishing(RunState& run, bool own);
/// What saves and deletions of this run have to know of the steps that were there; publishing begins.
void keep_house(RunState& run);

/// Adds this start to the history of the run, with what may change its bits.
void begin_attempt(RunState& run);
/// Warnings of plan and data, changes, and the banner. Rank 0 says them, the others nothing.
void announce(RunState& run);

}  // namespace titan::train
