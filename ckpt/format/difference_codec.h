#pragma once
// Encodes a part of a tensor as its difference from the same part of an older version: elements are treated as integers
// and subtracted. Training changes most elements only a little, so the differences are small and compress well. Each
// thread needs its own object. \source FORMAT.md, "Patch files"
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

#include "ckpt/base/result.h"

namespace titan::ckpt {

inline constexpr std::size_t kMaxDifferencePiece = std::size_t{4} << 20;  ///< largest number of bytes to encode at once

class DifferenceEncoder {
 public:
  DifferenceEncoder();
  ~DifferenceEncoder();
  DifferenceEncoder(DifferenceEncoder&&) noexcept;
  /// Encodes `target` against `base` of the same size, or against zeros if `base` is empty. `element_size`: 1, 2, 4 or
  /// 8; bytes after the last whole element are stored unchanged. The result is valid until the next call.
  /// \error kInvalid (sizes), kFailed (zstd)
  Result<std::span<const std::byte>> encode(std::span<const std::byte> base, std::span<const std::byte> target,
                                            std::size_t element_size);

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

class DifferenceDecoder {
 public:
  DifferenceDecoder();
  ~DifferenceDecoder();
  DifferenceDecoder(DifferenceDecoder&&) noexcept;
  /// Fills `target` from the bytes of encode() and the base given to encode(). \error kCorrupt (unknown form, sizes
  /// that do not fit), kInvalid, kFailed (zstd)
  Status decode(std::span<const std::byte> stored, std::span<const std::byte> base, std::size_t element_size,
                std::span<std::byte> target);

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace titan::ckpt
