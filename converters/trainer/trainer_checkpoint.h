#pragma once
// A Hugging Face folder in which a trainer also saved its optimizer: it can be resumed with the run's configuration.
#include "converters/format.h"

namespace titan::convert {

/// The format "hf": Hugging Face safetensors with config.json; never destroyed.
const Format& hf_format();

}  // namespace titan::convert
