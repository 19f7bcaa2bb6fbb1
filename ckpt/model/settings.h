#pragma once
// A configuration as a checkpoint stores it.
#include <string>
#include <utility>
#include <vector>

namespace titan::ckpt {

/// Sorted (key, canonical text) pairs; equal settings have equal text.
using Settings = std::vector<std::pair<std::string, std::string>>;

}  // namespace titan::ckpt
