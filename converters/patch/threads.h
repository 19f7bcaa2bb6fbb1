#pragma once
// How many pieces of a patch are processed in parallel.
#include <algorithm>

#include "ckpt/base/parallel.h"

namespace titan::convert {

/// ckpt::io_threads(wanted), at most 4, so that the threads' buffers fit into 64 MiB: each thread needs 5 to 12 MiB for
/// a piece, its base and the codec.
inline unsigned patch_threads(unsigned wanted) {
  constexpr unsigned kMost = 4;
  return std::min(ckpt::io_threads(wanted), kMost);
}

}  // namespace titan::convert
