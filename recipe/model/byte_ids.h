#pragma once
// Whether the token ids of a model are bytes (id b is the byte b). Pure.
#include "ckpt/model/settings.h"

namespace titan::recipe {

/// Whether the run of a checkpoint with these configuration rows was trained on text with the byte tokenizer. False if
/// the rows say nothing about the data.
bool reads_bytes(const ckpt::Settings& rows);

}  // namespace titan::recipe
