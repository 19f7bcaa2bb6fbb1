#pragma once
// Parts of models that some formats here do not carry.
#include "ckpt/model/settings.h"

namespace titan::convert {

/// What the model of these rows has that Hugging Face's folders alone carry, in words; nullptr: nothing of the kind.
const char* newer_part(const ckpt::Settings& rows);
/// The same of what changes the names of tensors: no sliding window.
const char* newer_tensors(const ckpt::Settings& rows);

}  // namespace titan::convert
