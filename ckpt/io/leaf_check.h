#pragma once
// Reads compressed leaves where the leaf table says that they lie. One object per thread.
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "ckpt/base/fs.h"
#include "ckpt/format/leaf_codec.h"
#include "ckpt/format/shard_file.h"

namespace titan::ckpt {

/// What the manifest says about a leaf of a compressed piece.
struct CompressedLeaf {
  std::uint64_t raw_bytes = 0;
  std::uint64_t chunk_bytes = 0;
  std::uint64_t element_size = 0;
};

/// Whether `row` can be that leaf's in a file of `file_bytes`; nothing is read or allocated for one that cannot.
bool row_fits(const LeafRow& row, const CompressedLeaf& leaf, std::uint64_t file_bytes);

class CompressedLeafReader {
 public:
  /// Reads and decodes the leaf at `row`, which fits, into `raw`; checks the raw digest.
  /// \error kCorrupt (no frame, another digest; the message names no place), kFailed (I/O)
  Status read(File& file, const LeafRow& row, const CompressedLeaf& leaf, std::span<std::byte> raw);
  /// Returns the row that the bytes at `row`, which fits, would have: equal to `row` when they are whole. Bytes that
  /// cannot be decoded have another raw digest than `row`, whatever it says. \error kFailed (I/O)
  Result<LeafRow> measure(File& file, const LeafRow& row, const CompressedLeaf& leaf);
  /// The same for stored bytes that were read already.
  LeafRow measure(std::span<const std::byte> stored, const LeafRow& row, const CompressedLeaf& leaf);

 private:
  LeafDecoder decoder_;
  std::vector<std::byte> stored_;
};

}  // namespace titan::ckpt
