#pragma once
// What a start would do, found out without ranks, tensors or a single write: for `titan-train plan`, and for the
// launcher, which refuses what every rank would refuse.
#include <string>
#include <vector>

#include "libtrain/job/start/prepare.h"

namespace titan::train {

struct StartPreview : Start {
  std::vector<std::string> weights;  ///< of a transfer: what is loaded, skipped, created
  std::uint64_t validation_samples = 0;
};

/// A start by one process that only looks. `prove_complete`: reads the last step of a complete run whole (read_whole),
/// since no resume will. \error as decide_start, open_start, prepare_start
Result<StartPreview> preview_start(ckpt::Fs& fs, const StartInputs& inputs, bool prove_complete = false);

}  // namespace titan::train
