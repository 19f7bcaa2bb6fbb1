#pragma once
// Memory for reads and writes that bypass the page cache.
#include <cstddef>
#include <cstdint>
#include <memory>
#include <new>
#include <span>

#include "ckpt/base/integers.h"

namespace titan::ckpt {

/// Alignment in bytes. Files of Fs::open_scan and Fs::create_large bypass the page cache only if the file offset and
/// the memory address are multiples of it.
inline constexpr std::uint64_t kScanAlignment = 4096;

inline bool is_aligned(const void* memory) { return reinterpret_cast<std::uintptr_t>(memory) % kScanAlignment == 0; }

/// Uninitialised memory, aligned to kScanAlignment: `size` bytes, rounded up to a multiple of kScanAlignment.
class AlignedBuffer {
 public:
  explicit AlignedBuffer(std::size_t size)
      : size_(round_up(size, kScanAlignment)),
        bytes_(static_cast<std::byte*>(::operator new (size_, std::align_val_t{kScanAlignment}))) {}
  std::span<std::byte> all() { return {bytes_.get(), size_}; }
  std::span<std::byte> first(std::size_t size) { return all().first(size); }

 private:
  struct Free {
    void operator()(std::byte* bytes) const { ::operator delete (bytes, std::align_val_t{kScanAlignment}); }
  };
  std::size_t size_;
  std::unique_ptr<std::byte, Free> bytes_;
};

}  // namespace titan::ckpt
