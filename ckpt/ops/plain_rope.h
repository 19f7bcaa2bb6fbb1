#pragma once
// Configurations in which no row says that RoPE is not scaled.
#include "ckpt/model/settings.h"

namespace titan::ckpt {

/// `config`, sorted, with a row that says RoPE is not scaled where there is one of its base and none of its scaling:
/// who compares models would else take a scaling that only one of them has for unknown in the other.
Settings with_plain_rope(const Settings& config);

}  // namespace titan::ckpt
