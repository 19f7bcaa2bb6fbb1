#pragma once
// How the bytes of a leaf are stored. \source FORMAT.md, "Leaves" and "Compressed pieces"
#include <cstdint>

namespace titan::ckpt {

/// How each leaf of a piece is stored.
enum class Codec : std::uint8_t {
  kRaw,   ///< uncompressed; the offset of a leaf is computed from that of its piece
  kZstd,  ///< byte shuffle, then one zstd frame per leaf; incompressible leaves stay raw. Offsets are in the leaf table
};

/// The largest chunk (a leaf with its padding) under Codec::kZstd, in bytes. Bounds a reader's memory for one leaf,
/// whatever a manifest claims.
inline constexpr std::uint64_t kMaxChunkBytes = std::uint64_t{64} << 20;

inline constexpr std::uint32_t kMaskBothFilters = 0;  ///< HDF5's filter mask of a leaf: shuffled, then compressed
inline constexpr std::uint32_t kMaskRaw = 3;          ///< both filters were skipped: the raw chunk

/// Whether a leaf under Codec::kZstd can have this stored length and filter mask.
inline bool stored_form_ok(std::uint64_t stored_bytes, std::uint32_t filter_mask, std::uint64_t chunk_bytes) {
  if (filter_mask == kMaskRaw) return stored_bytes == chunk_bytes;
  return filter_mask == kMaskBothFilters && stored_bytes > 0 && stored_bytes < chunk_bytes;
}

}  // namespace titan::ckpt
