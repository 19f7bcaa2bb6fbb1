#pragma once
// Encodes and decodes one leaf under Codec::kZstd: byte shuffle over the whole chunk, then one zstd frame with forced
// Huffman literals. If the frame is not smaller than the chunk, the leaf is stored raw (unencoded). Each thread needs
// its own object.
// \source FORMAT.md, "Compressed pieces"
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

#include "ckpt/base/hash.h"
#include "ckpt/base/result.h"
#include "ckpt/model/codec.h"

namespace titan::ckpt {

/// The stored form of a leaf.
struct EncodedLeaf {
  std::span<const std::byte> bytes;  ///< valid until the encoder's next call; may be a view of the input
  std::uint32_t filter_mask = 0;     ///< kMaskBothFilters or kMaskRaw (codec.h)
};

class LeafEncoder {
 public:
  LeafEncoder();
  ~LeafEncoder();
  /// Encodes a leaf of `raw.size()` bytes. A leaf shorter than `chunk_bytes` is first padded with zeros, as HDF5 pads
  /// its edge chunks. \error kFailed (zstd), kInvalid (a chunk larger than kMaxChunkBytes, or a leaf that does not fit
  /// its chunk)
  Result<EncodedLeaf> encode(std::span<const std::byte> raw, std::size_t element_size, std::size_t chunk_bytes);
  /// Decodes the leaf that encode() returned last, and compares the digest of the result with `raw`, the digest of the
  /// leaf's `raw_bytes` bytes before encoding. This detects errors of processor or memory during encoding, which a
  /// digest of the encoded bytes would not show.
  /// \error kFailed: the digests differ
  Status prove(const EncodedLeaf& encoded, const Digest& raw, std::size_t raw_bytes, std::size_t element_size,
               std::size_t chunk_bytes);

  /// For tests: `spoil` modifies each frame before encode() returns it; null turns that off. Not thread-safe.
  static void spoil_for_test(void (*spoil)(std::span<std::byte> frame));

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

class LeafDecoder {
 public:
  LeafDecoder();
  ~LeafDecoder();
  /// Decodes a leaf into `raw`, which has exactly the leaf's size. A frame must declare and hold exactly `chunk_bytes`.
  /// \error kCorrupt (not a frame, one of another size, bytes after it, an unknown mask), kInvalid (a chunk larger than
  /// kMaxChunkBytes, or a leaf that does not fit its chunk), kFailed (zstd)
  Status decode(std::span<const std::byte> stored, std::uint32_t filter_mask, std::size_t element_size,
                std::size_t chunk_bytes, std::span<std::byte> raw);
  /// The digest of the `raw_bytes` bytes that decode() would produce, without a buffer for them. \error as decode
  Result<Digest> digest(std::span<const std::byte> stored, std::uint32_t filter_mask, std::size_t element_size,
                        std::size_t chunk_bytes, std::size_t raw_bytes);

 private:
  Status decode_planes(std::span<const std::byte> stored, std::uint32_t filter_mask, std::size_t element_size,
                       std::size_t chunk_bytes, std::size_t raw_bytes);
  struct Impl;
  std::unique_ptr<Impl> impl_;  // created at the first frame: most checkpoints have none
};

}  // namespace titan::ckpt
