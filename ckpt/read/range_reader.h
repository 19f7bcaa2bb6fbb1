#pragma once
// Any run of elements of a checkpoint's tensor, read in whole leaves, each checked against its digest.
#include <vector>

#include "ckpt/read/reader.h"

namespace titan::ckpt {

class RangeReader {
 public:
  /// `checkpoint` outlives this and holds `ref`.
  RangeReader(const CheckpointReader& checkpoint, TensorRef ref);
  std::uint64_t elements() const { return grid_.elements; }
  std::uint64_t element_size() const { return size_; }
  /// How many elements to ask for at a time: whole leaves of about 1 MiB, which stay in a core's cache on their way.
  std::uint64_t stride() const;
  /// Fills `out` with elements from `first` on. \error kCorrupt, kFailed
  Status read(std::uint64_t first, std::span<std::byte> out);

 private:
  const CheckpointReader& checkpoint_;
  TensorRef ref_;
  LeafGrid grid_;
  std::uint64_t size_;
  std::vector<std::byte> leaf_;  // the last one that was needed in part
  std::uint64_t loaded_ = ~std::uint64_t{0};
};

}  // namespace titan::ckpt
