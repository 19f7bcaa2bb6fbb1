#pragma once
// A checkpoint whose model and optimizer lie in a DCP directory each, as accelerate and the Trainer of transformers
// save them.
#include <string>
#include <utility>
#include <vector>

#include "ckpt/base/fs.h"
#include "converters/dcp/metadata.h"

namespace titan::convert::dcp {

/// The directories of the checkpoint `path`, relative to it ("" is `path` itself): that of the model, and that of the
/// optimizer where it is another. \error kFailed
Result<std::vector<std::string>> parts_of(ckpt::Fs& fs, const std::string& path);
/// What accelerate numbered from 1 on: further models and optimizers, of which none is a part of the checkpoint `path`.
struct FurtherParts {
  std::vector<std::string> models, optimizers;  ///< names in `path`, ascending
};
/// Nothing where `path` is no folder of accelerate's. \error kFailed
Result<FurtherParts> further_parts(ckpt::Fs& fs, const std::string& path);
/// Where the optimizer of the model at `path` lies when that is one of two such directories; else "". \error kFailed
Result<std::string> optimizer_beside(ckpt::Fs& fs, const std::string& path);

/// The metadata of a whole checkpoint, made from its parts' (each with its name). A name in both is the first's.
Metadata joined_metadata(std::vector<std::pair<std::string, Metadata>> parts);

}  // namespace titan::convert::dcp
