#pragma once
// The Hugging Face format, for a folder with a model alone, or with the optimizer state that a trainer saved in it.
// With an optimizer, the run can be resumed with its configuration.
#include "converters/format.h"

namespace titan::convert {

/// The format "hf": Hugging Face safetensors with config.json; never destroyed.
const Format& hf_format();

}  // namespace titan::convert
