#pragma once
// Checkpoints of verl and of programs that took its manager over: `model_world_size_N_rank_R.pt`, a pickle of FSDP's
// state dict for each rank, and the optimizer's beside it. Weights, and with the run's configuration the optimizer.
// \source verl, verl/utils/checkpoint/fsdp_checkpoint_manager.py
#include <string>

#include "converters/format.h"

namespace titan::convert::verl {

/// The format "verl", which is read alone; never destroyed.
const Format& verl_format();

/// The folder of the ranks' files: `path`, or `actor` below it; "" where there are none. \error kFailed
Result<std::string> find_ranks(Fs& fs, const std::string& path);

}  // namespace titan::convert::verl
