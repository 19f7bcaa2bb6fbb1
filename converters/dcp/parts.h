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

/// The directories of the checkpoint `path`, relative to it ("" is `path` itself): the model's, which may be a folder
/// of safetensors shards (shards.h), and the optimizer's if that is another directory. Only "" if `path` has a
/// `.metadata`, or if no directory is found. \error kCorrupt: one of the two directories is there without its
/// `.metadata`, and has items or the name that accelerate gives it; kFailed
Result<std::vector<std::string>> parts_of(ckpt::Fs& fs, const std::string& path);
/// Further models and optimizers, which accelerate numbers from 1. They are not part of the checkpoint.
struct FurtherParts {
  std::vector<std::string> models, optimizers;  ///< names in `path`, ascending
};
/// Lists further parts; none if `path` is not a folder written by accelerate. \error kCorrupt (parts_of()), kFailed
Result<FurtherParts> further_parts(ckpt::Fs& fs, const std::string& path);
/// The note about the optimizer's directory, optimizer_N, next to a model's directory `path` that is called
/// pytorch_model_fsdp_N; "" if `path` has another name or there is no optimizer_N. \error kFailed
Result<std::string> sibling_optimizer_note(ckpt::Fs& fs, const std::string& path);

/// The metadata of a whole checkpoint, joined from that of its parts (path and metadata of each). If a name occurs
/// twice, the first part's entry is kept.
Metadata joined_metadata(std::vector<std::pair<std::string, Metadata>> parts);

}  // namespace titan::convert::dcp
