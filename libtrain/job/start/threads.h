#pragma once
// The number of compute threads of a rank. The rank's libraries read it when they are loaded, so it is chosen before
// ranks can communicate.
#include <optional>
#include <string>

#include "ckpt/model/train_state.h"
#include "libtrain/job/host/cores.h"

namespace titan::recipe {
struct Config;
}

namespace titan::ckpt {
class Fs;
}

namespace titan::train {

struct StartInputs;

/// The number of threads in the environment of a checkpoint; nothing if there is none, or if it is not from 1 to 4096.
std::optional<int> stored_threads(const ckpt::Settings& environment);

/// job.threads_per_rank if set, else `stored`, else a rank's part of the cores.
int threads_per_rank(const recipe::Config& config, std::optional<int> stored, int local_ranks, CoreShare share);
/// The same for a start that resumes a checkpoint with `state`; null: the start resumes none.
int threads_per_rank(const recipe::Config& config, const ckpt::TrainState* state, int local_ranks, CoreShare share);

/// A warning if the user has set OMP_NUM_THREADS (to `typed`) to another value than `threads`; else "". `stored`:
/// `threads` is the number in a checkpoint, unless job.threads_per_rank is set.
std::string unused_thread_variable(const std::optional<std::string>& typed, const recipe::Config& config, bool stored,
                                   int threads);

/// The number of threads for a start with these inputs, taking the checkpoint that it would resume into account. Does
/// not check member files, so that every rank may call it.
int choose_threads(ckpt::Fs& fs, const StartInputs& inputs, int local_ranks);

}  // namespace titan::train
