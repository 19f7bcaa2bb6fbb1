#pragma once
// The leaf table of a shard: the offset and the digests of each leaf. \source FORMAT.md, "Shard file"
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "ckpt/base/hash.h"

namespace titan::ckpt {

inline constexpr std::uint64_t kLeafRowBytes = 64;

/// One row of the leaf table.
struct LeafRow {
  std::uint64_t offset = 0;        ///< where the stored bytes begin in the file
  std::uint64_t stored_bytes = 0;  ///< length in the file
  std::uint64_t raw_bytes = 0;     ///< length when decoded
  std::uint32_t filter_mask = 0;   ///< filters of HDF5 that were skipped (codec.h)
  Digest raw, stored;              ///< of the decoded and of the stored bytes; equal in a raw piece
  bool operator==(const LeafRow&) const = default;
};

std::vector<std::byte> encode_leaf_table(const std::vector<LeafRow>& rows);
/// Decodes rows; `bytes` is a multiple of kLeafRowBytes.
std::vector<LeafRow> decode_leaf_table(std::span<const std::byte> bytes);

}  // namespace titan::ckpt
