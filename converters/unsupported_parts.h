#pragma once
// Parts of models that some formats cannot store.
#include "ckpt/model/settings.h"

namespace titan::convert {

/// A part of the model in `rows` that only Hugging Face's format can store, as text for a message; nullptr: there is
/// none.
const char* newer_part(const ckpt::Settings& rows);
/// Like newer_part(), only for parts that change the names of tensors (a sliding window does not).
const char* newer_tensors(const ckpt::Settings& rows);

}  // namespace titan::convert
