#pragma once
// Files in and around a DCP directory that hold no tensors: companions (config.json, tokenizer), which are copied with
// the model, and run state in pickles, which is ignored.
#include <string>

#include "converters/format.h"

namespace titan::convert::dcp {

/// The path of the config.json in `path`, in its parent, or in the subfolder of either that accelerate, Automodel or
/// verl use for it; empty if there is none. \error kFailed
Result<std::string> find_config(Fs& fs, const std::string& path);

/// Adds to `plan` the companions in `path` and, with `huggingface`, those in the folder of the config.json. Also adds
/// notes about further models and optimizers and about run state in pickles, all of which are ignored. \error kFailed
Status take_dcp_companions(Fs& fs, const std::string& path, bool huggingface, ImportPlan& plan);

}  // namespace titan::convert::dcp
