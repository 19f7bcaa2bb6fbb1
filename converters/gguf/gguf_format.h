#pragma once
// GGUF, the files of llama.cpp: one file, or pieces of it.
#include "converters/format.h"

namespace titan::convert {

/// The format "gguf"; never destroyed.
const Format& gguf_format();

}  // namespace titan::convert
