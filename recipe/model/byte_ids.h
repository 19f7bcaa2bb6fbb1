#pragma once
// Whether a model reads and writes bytes: id b is the byte b. Pure.
#include "ckpt/model/settings.h"

namespace titan::recipe {

/// By the configuration that a checkpoint holds: its run was trained on text with the byte tokenizer. A configuration
/// that says nothing of its data is none of a byte model.
bool reads_bytes(const ckpt::Settings& rows);

}  // namespace titan::recipe
