#pragma once
// How the bytes of a leaf are stored. \source FORMAT.md, "Leaves" and "Compressed pieces"
#include <cstdint>

namespace titan::ckpt {

enum class Codec : std::uint8_t {
  kRaw,   ///< as they are; offsets of leaves follow from the piece
  kZstd,  ///< byte shuffle, then one zstd frame per leaf; raw where that is not smaller. Offsets stand in the leaf
          ///< table
};

/// Of a chunk under Codec::kZstd: what a reader is asked to hold for one leaf, whatever a manifest says.
inline constexpr std::uint64_t kMaxChunkBytes = std::uint64_t{64} << 20;

inline constexpr std::uint32_t kMaskBothFilters = 0;  ///< shuffled, then compressed
inline constexpr std::uint32_t kMaskRaw = 3;          ///< neither: the chunk as it is

/// Whether a leaf under Codec::kZstd can have this stored length and mask.
inline bool stored_form_ok(std::uint64_t stored_bytes, std::uint32_t filter_mask, std::uint64_t chunk_bytes) {
  if (filter_mask == kMaskRaw) return stored_bytes == chunk_bytes;
  return filter_mask == kMaskBothFilters && stored_bytes > 0 && stored_bytes < chunk_bytes;
}

}  // namespace titan::ckpt
