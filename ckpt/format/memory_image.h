#pragma once
// A sparse file in memory that libhdf5 writes metadata into, through a virtual file driver of our own. The driver
// chooses addresses, and of raw data it keeps only where it would have gone. Only the files of ckpt/format/ that call
// libhdf5 include this.
#include <cstdint>
#include <map>
#include <optional>
#include <vector>

#include <hdf5.h>

namespace titan::ckpt {

/// Address -> bytes; extents never touch or overlap. Bytes outside of them are zeros.
class MemoryImage {
 public:
  void write(std::uint64_t address, const void* data, std::size_t size);
  void read(std::uint64_t address, void* data, std::size_t size) const;

  std::map<std::uint64_t, std::vector<std::byte>> extents;
  std::uint64_t end = 0;        ///< end of what was written
  std::uint64_t allocated = 0;  ///< libhdf5's end of allocation

  /// Where all but the first block of metadata is allocated; 0: behind what was allocated before.
  std::uint64_t metadata_from = 0;
  /// Where the next raw data goes; used up by its allocation. None: behind what was allocated before.
  std::optional<std::uint64_t> raw_at;
  struct RawWrite {
    std::uint64_t address = 0, bytes = 0;
  };
  std::vector<RawWrite> raw_writes;  ///< in order; their bytes are dropped
  /// Keeps all bytes instead: for files without raw data. libhdf5 writes global heaps (mappings of virtual datasets) as
  /// raw data.
  bool keep_raw = false;

  std::uint64_t allocate(bool raw, std::uint64_t size);
};

/// Makes `fapl` open files in `image`, which outlives them. Returns false when libhdf5 refuses.
bool use_memory_image(hid_t fapl, MemoryImage* image);

}  // namespace titan::ckpt
