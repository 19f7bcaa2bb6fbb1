#pragma once
// Checkpoints of verl and of programs that use its checkpoint manager. Each rank has a pickle of its FSDP state dict,
// `model_world_size_N_rank_R.pt`, and one of its optimizer state. Weights are converted; the optimizer is converted if
// the run's configuration is given. \source verl, verl/utils/checkpoint/fsdp_checkpoint_manager.py
#include <string>

#include "converters/format.h"

namespace titan::convert::verl {

/// The format "verl" (read only); never destroyed.
const Format& verl_format();

/// The folder of the rank files: `path` or `path`/actor; empty if neither has such files. \error kFailed
Result<std::string> find_ranks(Fs& fs, const std::string& path);

}  // namespace titan::convert::verl
