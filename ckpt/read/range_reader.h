#pragma once
// Reads any range of elements of a tensor.
#include <vector>

#include "ckpt/read/reader.h"

namespace titan::ckpt {

/// Reads whole leaves of a Titan checkpoint, and checks each against its digest; keeps the last leaf of which only a
/// part was needed. A checkpoint of another format is read as it is asked for.
class RangeReader {
 public:
  /// `checkpoint` must outlive the reader and must contain `ref`.
  RangeReader(const CheckpointReader& checkpoint, TensorRef ref);
  std::uint64_t elements() const { return grid_.elements; }
  std::uint64_t element_size() const { return size_; }
  /// The number of elements to read at a time: whole leaves of about 1 MiB, which fit into a core's cache.
  std::uint64_t stride() const;
  /// Fills `out` with elements from `first` on. \error as CheckpointReader::read
  Status read(std::uint64_t first, std::span<std::byte> out);

 private:
  const CheckpointReader& checkpoint_;
  TensorRef ref_;
  LeafGrid grid_;
  std::uint64_t size_;
  std::vector<std::byte> leaf_;  // the leaf that was last read in part
  std::uint64_t loaded_ = ~std::uint64_t{0};
};

}  // namespace titan::ckpt
