#pragma once
// Mistral's own layout (read only): consolidated.safetensors, or consolidated-00001-of-0000N.safetensors, with
// params.json.
#include "converters/format.h"

namespace titan::convert {

/// The format "mistral"; never destroyed.
const Format& mistral_format();

}  // namespace titan::convert
