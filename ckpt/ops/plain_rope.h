#pragma once
// Configurations without a row for the scaling of RoPE.
#include "ckpt/model/settings.h"

namespace titan::ckpt {

/// Adds a row "RoPE is not scaled" to the sorted `config` if it has a row for RoPE's base and none for its scaling. A
/// comparison of two models would else treat the missing row as unknown when only the other one is scaled.
Settings with_plain_rope(const Settings& config);

}  // namespace titan::ckpt
