#pragma once
// A start with checkpoint.near: its folder, and the steps that lie there. run_state.h explains "near folder" and
// "durable".
#include <set>

#include "libtrain/engine/train/run_state.h"

namespace titan::train {

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

}  // namespace titan::train
