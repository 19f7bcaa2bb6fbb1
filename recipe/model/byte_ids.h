#pragma once
// Whether a model reads and writes bytes: id b is the byte b. Pure.
#include "ckpt/model/settings.h"

namespace titan::recipe {

/// Whether the configuration in a checkpoint says that its run was trained on text with the byte tokenizer. False when
/// it says nothing of its data.
bool reads_bytes(const ckpt::Settings& rows);

}  // namespace titan::recipe
