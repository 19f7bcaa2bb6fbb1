#pragma once
// Configurations that do not say whether RoPE is scaled.
#include "ckpt/model/settings.h"

namespace titan::ckpt {

/// Adds a row "RoPE is not scaled" to the sorted `config` if it has a row for RoPE's base and none for its scaling.
/// Without this row, a comparison with a model that scales RoPE would treat the setting as unknown.
Settings with_plain_rope(const Settings& config);

}  // namespace titan::ckpt
