#pragma once
// Which kernel computes attention on a GPU: always one that is named, since it decides bits. Pure.
#include <string>

#include "recipe/keys/config.h"

namespace titan::train {

/// "flash", and "math" in float32, in which flash does not compute.
std::string attention_kernel(const recipe::Config& config);

}  // namespace titan::train
