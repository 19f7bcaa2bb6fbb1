#pragma once
// What lies beside the tensors of a DCP directory: files that travel with the model, and what is not read.
#include <string>

#include "converters/format.h"

namespace titan::convert::dcp {

/// The config.json in `path`, in the folder above it, or below these where accelerate, Automodel and verl put it; ""
/// where there is none. \error kFailed
Result<std::string> find_config(Fs& fs, const std::string& path);

/// Adds to `plan` the files that travel with the model: those in `path`, and with Hugging Face's names those beside the
/// config.json. Notes what of several models and optimizers is not read, and states of a run in pickles. \error kFailed
Status take_files_beside(Fs& fs, const std::string& path, bool huggingface, ImportPlan& plan);

}  // namespace titan::convert::dcp
