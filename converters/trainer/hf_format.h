#pragma once
// Hugging Face safetensors with config.json: Llama, Mistral, Qwen2 and what shares their form.
#include "converters/format.h"

namespace titan::convert {

/// The format "hf"; never destroyed.
const Format& hf_format();

}  // namespace titan::convert
