#pragma once
// Parts of models that some formats cannot store.
#include "ckpt/model/settings.h"

namespace titan::convert {

/// A part of the model that most formats cannot store, as text for a message; nullptr: there is none. `rows` are the
/// checkpoint's settings. Hugging Face folders can store all such parts.
const char* newer_part(const ckpt::Settings& rows);
/// Like newer_part(), only for parts that change the names of tensors (a sliding window does not).
const char* newer_tensors(const ckpt::Settings& rows);

}  // namespace titan::convert
