#pragma once
// Limit on free pages that TensorMemory (libtrain/engine/device/tensor_memory.h) keeps for reuse.
#include <cstddef>

namespace titan::train {

/// Pages in use and free pages together exceed the peak use by at most 1/kMemorySlack of that peak. With this limit
/// pages that are needed again are rarely returned.
inline constexpr std::size_t kMemorySlack = 32;

}  // namespace titan::train
