#pragma once
// A sparse file in memory that libhdf5 writes metadata into, through a virtual file driver of our own.
// Only the files of ckpt/format/ that call libhdf5 include this.
#include <cstdint>
#include <map>
#include <vector>

#include <hdf5.h>

namespace titan::ckpt {

/// Address -> bytes; extents never touch or overlap. Bytes outside of them are zeros.
class MemoryImage {
 public:
  void write(std::uint64_t address, const void* data, std::size_t size);
  void read(std::uint64_t address, void* data, std::size_t size) const;

  std::map<std::uint64_t, std::vector<std::byte>> extents;
  std::uint64_t end = 0;            ///< end of what was written
  std::uint64_t allocated = 0;      ///< libhdf5's end of allocation
};

/// Makes `fapl` open files in `image`, which outlives them. Returns false when libhdf5 refuses.
bool use_memory_image(hid_t fapl, MemoryImage* image);

}  // namespace titan::ckpt
