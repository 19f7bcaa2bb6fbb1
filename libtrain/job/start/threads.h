#pragma once
// How many threads a rank computes with. It is decided before the rank's libraries are loaded for good, so before ranks
// can talk.
#include <optional>
#include <string>

#include "libtrain/job/host/cores.h"
#include "libtrain/job/start/prepare.h"

namespace titan::train {

/// What the environment of a checkpoint says; nothing where it says nothing, or no number from 1 to 4096.
std::optional<int> stored_threads(const ckpt::Settings& environment);

/// job.threads_per_rank, else `stored`, else a rank's part of the cores.
int threads_per_rank(const recipe::Config& config, std::optional<int> stored, int local_ranks, CoreShare share);
/// The same for a start that goes on from a checkpoint with this state; null: from none.
int threads_per_rank(const recipe::Config& config, const ckpt::TrainState* state, int local_ranks, CoreShare share);

/// What to say of an OMP_NUM_THREADS that the user has set and that is not `threads`; "" where it is, or is not set.
std::string unused_thread_variable(const std::optional<std::string>& typed, const recipe::Config& config, bool stored,
                                   int threads);

/// The same for the checkpoint that a start with these inputs would resume. Its member files are not looked at: every
/// rank may ask.
int choose_threads(ckpt::Fs& fs, const StartInputs& inputs, int local_ranks);

}  // namespace titan::train
