#pragma once
// Mistral's own layout, which is only read: consolidated.safetensors, or consolidated-00001-of-0000N.safetensors,
// beside params.json.
#include "converters/format.h"

namespace titan::convert {

/// The format "mistral"; never destroyed.
const Format& mistral_format();

}  // namespace titan::convert
