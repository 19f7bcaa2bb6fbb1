#pragma once
// A sparse file in memory into which libhdf5 writes metadata, through our own virtual file driver, which chooses the
// addresses. Of raw data (the bytes of datasets) the driver keeps only the addresses. Included only by files of
// ckpt/format/ that call libhdf5.
#include <cstdint>
#include <map>
#include <optional>
#include <vector>

#include <hdf5.h>

namespace titan::ckpt {

/// Maps addresses to bytes. Extents never touch or overlap; all other bytes are zeros.
class MemoryImage {
 public:
  void write(std::uint64_t address, const void* data, std::size_t size);
  void read(std::uint64_t address, void* data, std::size_t size) const;

  std::map<std::uint64_t, std::vector<std::byte>> extents;
  std::uint64_t end = 0;        ///< end of the last byte that was written
  std::uint64_t allocated = 0;  ///< end of the address space that libhdf5 has allocated

  /// Address at which metadata after its first block is allocated; 0: after everything allocated so far.
  std::uint64_t metadata_from = 0;
  /// Address at which the next raw data are allocated; reset after that allocation. Empty: after everything allocated
  /// so far.
  std::optional<std::uint64_t> raw_at;
  struct RawWrite {
    std::uint64_t address = 0, bytes = 0;
  };
  std::vector<RawWrite> raw_writes;  ///< in order, without their bytes
  /// Also keeps the bytes of raw writes. For files without tensor data: libhdf5 writes global heaps (the mappings of
  /// virtual datasets) as raw data.
  bool keep_raw = false;

  /// Allocates `size` bytes for raw data or metadata; returns their address.
  std::uint64_t allocate(bool raw, std::uint64_t size);
};

/// Makes files opened with `fapl` live in `image`, which must outlive them. Returns false if libhdf5 refuses.
bool use_memory_image(hid_t fapl, MemoryImage* image);

}  // namespace titan::ckpt
