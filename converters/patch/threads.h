#pragma once
// How many pieces of a patch are worked on side by side.
#include <algorithm>

#include "ckpt/base/parallel.h"

namespace titan::convert {

/// `wanted` as ckpt::io_threads has it, but no more than fit 64 MiB: each has a piece, its base and its codec's
/// buffers, 5 to 12 MiB.
inline unsigned patch_threads(unsigned wanted) {
  constexpr unsigned kMost = 4;
  return std::min(ckpt::io_threads(wanted), kMost);
}

}  // namespace titan::convert
