#pragma once
// checkpoint.near at the start of a run: its folder, and the steps in it that the run folder lacks.
#include <cstdint>
#include <set>
#include <string>

namespace titan::train {

struct RunState;

/// Makes the near folder of the run, once its lock is held, and sets `near_folder`; nothing where none is asked for.
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

}  // namespace titan::train
