#pragma once
// How the bytes of a leaf are stored. \source FORMAT.md, "Leaves" and "Compressed pieces"
#include <cstdint>

namespace titan::ckpt {

enum class Codec : std::uint8_t {
  kRaw,   ///< as they are; offsets of leaves follow from the piece
  kZstd,  ///< byte shuffle, then one zstd frame per leaf; raw where that is not smaller. Offsets stand in the leaf table
};

}  // namespace titan::ckpt
