#pragma once
// Checkpoints of verl and of programs with its checkpoint manager: `model_world_size_N_rank_R.pt`, a pickle of each
// rank's FSDP state dict, and one pickle per rank with the optimizer's. Weights are read, and with the run's
// configuration also the optimizer. \source verl, verl/utils/checkpoint/fsdp_checkpoint_manager.py
#include <string>

#include "converters/format.h"

namespace titan::convert::verl {

/// The format "verl" (read only); never destroyed.
const Format& verl_format();

/// The folder of the rank files: `path` or `path`/actor; empty if neither has such files. \error kFailed
Result<std::string> find_ranks(Fs& fs, const std::string& path);

}  // namespace titan::convert::verl
