#pragma once
// Shared by all code that calls libhdf5. Internal: only files of ckpt/format/ that call libhdf5 include this.
#include <string>
#include <utility>

#include "ckpt/base/mutex.h"
#include "ckpt/base/status.h"
#include "ckpt/format/memory_image.h"
#include "ckpt/model/dtype.h"

namespace titan::ckpt {

/// Owns an HDF5 identifier.
class Id {
 public:
  Id(hid_t id, herr_t (*close)(hid_t)) : id_(id), close_(close) {}
  Id(Id&& other) noexcept : id_(std::exchange(other.id_, -1)), close_(other.close_) {}
  Id& operator=(Id&&) = delete;
  ~Id() {
    if (id_ >= 0) close_(id_);
  }
  operator hid_t() const { return id_; }  // NOLINT: used as the plain id everywhere
  bool ok() const { return id_ >= 0; }
  bool close() { return close_(std::exchange(id_, -1)) >= 0; }

 private:
  hid_t id_;
  herr_t (*close_)(hid_t);
};

/// Prepares the library, and keeps other threads out of it while the session lives. libhdf5 serves one caller at a time
/// anyway; a lock of our own keeps its per-thread settings simple.
class Hdf5Session {
 public:
  Hdf5Session();

 private:
  MutexLock lock_;
};

/// "libhdf5 could not <what>".
Status hdf5_failed(const std::string& what);

/// Returns the element type. A bfloat16 type is committed to `file` under its name (call once per file), unless `file`
/// is negative.
Id make_element_type(DType dtype, hid_t file);

/// Creates a file in `image` without times, with checksummed headers that libhdf5 1.8 and newer read. `metadata_bytes`
/// estimates the size of the metadata: it is kept together, and tiny files stay tiny.
Id create_in_memory(MemoryImage* image, std::size_t metadata_bytes);
/// As create_in_memory, for a file whose raw data goes without alignment where the image says. The first block of
/// metadata has `block` bytes.
Id create_stream_in_memory(MemoryImage* image, std::size_t block);

}  // namespace titan::ckpt
