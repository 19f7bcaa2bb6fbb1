#pragma once
// The start of a run, from the configuration to a rank that is ready for its first step. Each function is one phase of
// a start. All are called on every rank, unless stated otherwise. run_state.h explains "near folder" and "durable".
#include "libtrain/engine/train/run_state.h"

namespace titan::train {

/// kReady: training can begin. kComplete: the checkpoint is already at training.steps or debug.stop_at_step, so there
/// is nothing to train. kStopped: a stop signal came, and there is nothing to save.
enum class StartOutcome { kReady, kComplete, kStopped };

/// Runs all phases and fills `run`. Collective. \error throws StatusError, CommError
StartOutcome start_run(RunState& run);

/// Decides from which step the run resumes, and opens the checkpoint to load. Rank 0 looks at the run folder, and sends
/// its decision and the manifest to the other ranks. Collective. \error throws StatusError
void choose_start(RunState& run);
/// Decides settings, plan and data. Every rank does so itself; if one rank refuses (for example because its
/// configuration or its copy of the data differs), all ranks get the error. Collective. \error throws StatusError
void resolve_settings(RunState& run);

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

/// Creates the folder of checkpoint.near, once the run lock is held, and sets `near_folder`. Does nothing if
/// checkpoint.near is not set. Collective. \error on all ranks: not an absolute path (kInvalid); not the same folder on
/// all ranks (kUnsupported); I/O
void open_near_folder(RunState& run);
/// Starts the thread that copies steps from the near folder to the run folder. The thread begins with the steps that
/// the run folder lacks, up to the one that the run resumes from. `damaged` are damaged steps of the run folder. Rank 0
/// only.
void begin_copies(RunState& run, const std::set<std::uint64_t>& damaged);
/// Copies the step of `start.decision` from the near folder to the run folder if the run folder lacks it. The next
/// choose_start() then takes it from the run folder. Collective. \error as ckpt::copy_step, on all ranks
void copy_to_run_folder(RunState& run);
/// Removes the near folder of a run that is complete and whose last step is durable. Rank 0 only.
void remove_near_folder(const RunState& run);
/// The path that the step of `start.decision` has, or would have, in the run folder.
std::string durable_path(const RunState& run);

/// Creates the hook that runs the command checkpoint.on_publish after a save. `own`: the run resumes from a step of its
/// own. If the command never succeeded for that step, it is run now. Rank 0 only.
void begin_publishing(RunState& run, bool own);
/// Starts retention, publishing and copies. Tells retention and the checkpointer which existing steps are damaged.
void start_retention(RunState& run);

/// Adds this start to the attempts in run.state, with everything on which the bits of results depend.
void begin_attempt(RunState& run);
/// Rank 0 logs the warnings of plan and data, changed settings, and the banner.
void announce(RunState& run);

}  // namespace titan::train
