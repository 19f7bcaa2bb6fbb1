#pragma once
// Files in and around a DCP directory that hold no tensors: companions (config.json, tokenizer), which are copied with
// the model, and run state in pickles, which is ignored.
#include <string>

#include "converters/format.h"

namespace titan::convert::dcp {

/// The path of the first config.json that is found; empty if there is none. The search goes through `path` and its
/// subfolders `.hf_metadata`, `huggingface` and `pytorch_model_fsdp_0` (of Automodel, verl and accelerate), then
/// through the parent of `path` and the same subfolders of it. \error kUnsupported: a config.json that is not a file;
/// kFailed
Result<std::string> find_config(Fs& fs, const std::string& path);

/// Adds to `plan` the companions in `path` and, with `huggingface` (the tensors have Hugging Face's names), those in
/// the folder of the config.json. Also adds a note about what is ignored: further models and optimizers (parts.h), and
/// run state in pickles. \error as find_config and further_parts
Status take_dcp_companions(Fs& fs, const std::string& path, bool huggingface, ImportPlan& plan);

}  // namespace titan::convert::dcp
