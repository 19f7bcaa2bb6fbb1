#pragma once
// Bytes in memory that is aligned as Fs::create_large and Fs::open_scan want it.
#include <cstddef>
#include <cstdlib>
#include <cstring>
#include <span>

#include "ckpt/base/fs.h"

namespace titan::test {

class AlignedBytes {
 public:
  AlignedBytes(std::size_t size, int value) : size_(size) {
    const std::size_t blocks = (size + ckpt::kScanAlignment - 1) / ckpt::kScanAlignment;
    bytes_ = static_cast<std::byte*>(std::aligned_alloc(ckpt::kScanAlignment, blocks * ckpt::kScanAlignment));
    std::memset(bytes_, value, size);
  }
  ~AlignedBytes() { std::free(bytes_); }
  AlignedBytes(const AlignedBytes&) = delete;
  AlignedBytes& operator=(const AlignedBytes&) = delete;
  std::span<std::byte> span() const { return {bytes_, size_}; }

 private:
  std::size_t size_;
  std::byte* bytes_;
};

}  // namespace titan::test
