#pragma once
// A checkpoint with one DCP directory for the model and one for the optimizer, as accelerate and the transformers
// Trainer save it.
#include <string>
#include <utility>
#include <vector>

#include "converters/dcp/metadata.h"

namespace titan::ckpt {
class Fs;
}

namespace titan::convert::dcp {

/// The directories of the checkpoint `path`, relative to it ("" is `path` itself): the model's, and the optimizer's if
/// it is a different one. \error kFailed
Result<std::vector<std::string>> parts_of(ckpt::Fs& fs, const std::string& path);
/// Further models and optimizers, which accelerate numbers from 1. They are not part of the checkpoint.
struct FurtherParts {
  std::vector<std::string> models, optimizers;  ///< names in `path`, ascending
};
/// Empty if `path` is not a folder written by accelerate. \error kFailed
Result<FurtherParts> further_parts(ckpt::Fs& fs, const std::string& path);
/// What a note says of the optimizer's directory if `path` is the model's of two such directories; else "". \error
/// kFailed
Result<std::string> note_of_optimizer_beside(ckpt::Fs& fs, const std::string& path);

/// The metadata of a whole checkpoint, joined from that of its parts (each with its path). If a name occurs twice, the
/// first part wins.
Metadata joined_metadata(std::vector<std::pair<std::string, Metadata>> parts);

}  // namespace titan::convert::dcp
