#pragma once
// RUN@best: the step of a run with the lowest validation loss.
#include <string>
#include <vector>

#include "ckpt/base/result.h"

namespace titan::ckpt {
class Fs;
}

namespace titan::recipe {

/// The folder of the checkpoint that RUN@best names: among the steps that are there the one whose validation, by the
/// lines of metrics.jsonl that count, had the lowest loss; of equal losses the newer step. Proven damage alone is
/// passed over, with a line in `skipped`. Any other text, and a path that is there, is returned as it is. \error
/// kNotFound: no such run, or none of its steps has a loss; of a step that could not be judged, or of the file
ckpt::Result<std::string> resolve_best(ckpt::Fs& fs, const std::string& spec,
                                       std::vector<std::string>* skipped = nullptr);

}  // namespace titan::recipe
