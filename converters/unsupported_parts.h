#pragma once
// Parts of models that some formats cannot store.
#include "ckpt/model/settings.h"

namespace titan::convert {

/// A part of the model in `rows` that most formats cannot store, as text for a message; nullptr: there is none. Hugging
/// Face folders can store all of them.
const char* newer_part(const ckpt::Settings& rows);
/// Like newer_part(), only for parts that change the names of tensors (a sliding window does not).
const char* newer_tensors(const ckpt::Settings& rows);

}  // namespace titan::convert
