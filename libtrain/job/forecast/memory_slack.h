#pragma once
// What the memory of large tensors may hold beyond what they used at most. See tensor_memory.h.
#include <cstddef>

namespace titan::train {

/// Free pages are at most this part of what was used at most, so that few are given back only to be asked for anew.
inline constexpr std::size_t kMemorySlack = 32;

}  // namespace titan::train
