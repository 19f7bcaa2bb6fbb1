#pragma once
// Limit on free pages that TensorMemory (libtrain/engine/device/tensor_memory.h) keeps for reuse.
#include <cstddef>

namespace titan::train {

/// Free pages are at most 1/kMemorySlack of peak use. This suffices to rarely return pages that are needed again.
inline constexpr std::size_t kMemorySlack = 32;

}  // namespace titan::train
