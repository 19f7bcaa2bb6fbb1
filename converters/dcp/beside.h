#pragma once
// Files of a DCP directory other than tensors: those that travel with the model, and those that are ignored.
#include <string>

#include "converters/format.h"

namespace titan::convert::dcp {

/// The path of the config.json in `path`, in its parent, or below either where accelerate, Automodel and verl put it;
/// empty if there is none. \error kFailed
Result<std::string> find_config(Fs& fs, const std::string& path);

/// Adds to `plan` the files that travel with the model: those in `path`, and with Hugging Face's names those next to
/// the config.json. Notes which of several models and optimizers are ignored, and run states in pickles, which are
/// ignored too. \error kFailed
Status take_files_beside(Fs& fs, const std::string& path, bool huggingface, ImportPlan& plan);

}  // namespace titan::convert::dcp
