#pragma once
// Maps a range of a tensor's elements to ranges of its chunks. Pure.
#include <cstdint>
#include <vector>

#include "converters/dcp/metadata.h"

namespace titan::convert::dcp {

/// A run of elements that are contiguous both in the tensor and in its chunk.
struct Run {
  std::uint64_t chunk_element = 0;   ///< index in the chunk, row-major
  std::uint64_t tensor_element = 0;  ///< index in the tensor, row-major
  std::uint64_t count = 0;
  bool operator==(const Run&) const = default;
};

/// The elements of [first, first + count) of a tensor of `shape` that are in `chunk`, as runs that ascend both in the
/// tensor and in the chunk. The runs of one call are adjacent in the chunk, so one read fetches all of them. Empty if
/// the chunk has no element of the range.
std::vector<Run> chunk_runs(const std::vector<std::uint64_t>& shape, const Chunk& chunk, std::uint64_t first,
                            std::uint64_t count);

}  // namespace titan::convert::dcp
