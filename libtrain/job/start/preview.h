#pragma once
// Computes what a start would do, without ranks, tensors or writes: for `titan-train plan`, and for the launcher, which
// refuses what every rank would refuse.
#include <string>
#include <vector>

#include "libtrain/job/start/prepare.h"

namespace titan::train {

struct StartPreview : Start {
  std::vector<std::string> weights;  ///< for a transfer: what is loaded, skipped and created
  std::uint64_t validation_samples = 0;
};

/// Prepares a start in one process, only reading. `prove_complete`: also reads the whole last step of a complete run
/// (read_whole()), since no resume will read it. \error as decide_start, open_start, prepare_start, ckpt::check_near,
/// check_status_place
Result<StartPreview> preview_start(ckpt::Fs& fs, const StartInputs& inputs, bool prove_complete = false);

}  // namespace titan::train
