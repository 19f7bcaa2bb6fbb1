#pragma once
// How the bytes of a leaf are stored. \source FORMAT.md, "Leaves" and "Compressed pieces"
#include <cstdint>

namespace titan::ckpt {

enum class Codec : std::uint8_t {
  kRaw,   ///< as they are; offsets of leaves follow from the piece
  kZstd,  ///< byte shuffle, then one zstd frame per leaf; raw where that is not smaller. Offsets stand in the leaf table
};

/// Of a chunk under Codec::kZstd: what a reader is asked to hold for one leaf, whatever a manifest says.
inline constexpr std::uint64_t kMaxChunkBytes = std::uint64_t{64} << 20;

}  // namespace titan::ckpt
