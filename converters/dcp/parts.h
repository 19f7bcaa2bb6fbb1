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

/// The DCP directories of the checkpoint `path`, relative to it ("" is `path` itself): the model's, and the optimizer's
/// if that is another directory. Only "" if no directory is found. \error kFailed
Result<std::vector<std::string>> parts_of(ckpt::Fs& fs, const std::string& path);
/// Further models and optimizers, which accelerate numbers from 1. They are not part of the checkpoint.
struct FurtherParts {
  std::vector<std::string> models, optimizers;  ///< names in `path`, ascending
};
/// Lists further parts; none if `path` is not a folder written by accelerate. \error kFailed
Result<FurtherParts> further_parts(ckpt::Fs& fs, const std::string& path);
/// If `path` is the model's directory of a checkpoint with two directories: the note about the optimizer's directory
/// next to it; else "". \error kFailed
Result<std::string> sibling_optimizer_note(ckpt::Fs& fs, const std::string& path);

/// The metadata of a whole checkpoint, joined from that of its parts (path and metadata of each). If a name occurs
/// twice, the first part's entry is kept.
Metadata joined_metadata(std::vector<std::pair<std::string, Metadata>> parts);

}  // namespace titan::convert::dcp
