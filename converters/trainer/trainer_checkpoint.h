#pragma once
// A Hugging Face folder in which a trainer also keeps its optimizer: with the run's configuration it can be resumed.
#include "converters/format.h"

namespace titan::convert {

/// The format "hf": Hugging Face safetensors with config.json; never destroyed.
const Format& hf_format();

}  // namespace titan::convert
