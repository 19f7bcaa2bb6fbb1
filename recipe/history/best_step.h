#pragma once
// RUN@best: the step of a run with the lowest validation loss.
#include <string>
#include <vector>

#include "ckpt/base/result.h"

namespace titan::ckpt {
class Fs;
}

namespace titan::recipe {

/// Resolves RUN@best: among the existing steps, the one with the lowest validation loss in the valid lines of
/// metrics.jsonl; of equal losses the newer step. A damaged step is skipped, with a line in `skipped`. A step that
/// cannot be read is not skipped but an error, because it may be undamaged. Any other text, and an existing path, is
/// returned unchanged. \error kNotFound: no such run, or none of its undamaged steps has a loss; errors of reading a
/// step or metrics.jsonl
ckpt::Result<std::string> resolve_best(ckpt::Fs& fs, const std::string& spec,
                                       std::vector<std::string>* skipped = nullptr);

}  // namespace titan::recipe
