#pragma once
// Reads a tensor of a Titan checkpoint with the rows of its heads in rotate-half order, which is Hugging Face's
// (half-split order in ckpt/model/rope_permutation.h).
#include <vector>

#include "ckpt/read/range_reader.h"

namespace titan::convert {

class OrderedReader {
 public:
  /// `head_dim`: number of rows of a head, to reorder its rows from Titan's interleaved order to rotate-half order; 0:
  /// no reordering. `checkpoint` must outlive this object and contain `ref`. \error kUnsupported: a head of more than
  /// 64 MiB
  static ckpt::Result<OrderedReader> open(const ckpt::CheckpointReader& checkpoint, const ckpt::TensorRef& ref,
                                          std::uint64_t head_dim);
  std::uint64_t elements() const { return reader_.elements(); }
  std::uint64_t element_size() const { return reader_.element_size(); }
  /// How many elements to read at a time: about 1 MiB, in whole heads.
  std::uint64_t stride() const;
  /// Fills `out` with elements from `first` on, in whole heads. \error kCorrupt, kFailed
  ckpt::Status read(std::uint64_t first, std::span<std::byte> out);

 private:
  OrderedReader(const ckpt::CheckpointReader& checkpoint, const ckpt::TensorRef& ref, std::uint64_t head_dim,
                std::uint64_t row)
      : reader_(checkpoint, ref), head_dim_(head_dim), row_(row) {}

  ckpt::RangeReader reader_;
  std::uint64_t head_dim_, row_;  // rows of a head, elements of a row
  std::vector<std::byte> spare_;
};

}  // namespace titan::convert
