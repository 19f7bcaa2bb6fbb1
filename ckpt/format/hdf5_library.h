#pragma once
// Helpers for code that calls libhdf5. Internal: included only by files of ckpt/format/ that call libhdf5.
#include <string>
#include <utility>

#include "ckpt/base/mutex.h"
#include "ckpt/base/status.h"
#include "ckpt/format/memory_image.h"
#include "ckpt/model/dtype.h"

namespace titan::ckpt {

/// Owns an HDF5 identifier.
class Hdf5Handle {
 public:
  Hdf5Handle(hid_t id, herr_t (*close)(hid_t)) : id_(id), close_(close) {}
  Hdf5Handle(Hdf5Handle&& other) noexcept : id_(std::exchange(other.id_, -1)), close_(other.close_) {}
  Hdf5Handle& operator=(Hdf5Handle&&) = delete;
  ~Hdf5Handle() {
    if (id_ >= 0) close_(id_);
  }
  operator hid_t() const { return id_; }  // NOLINT: used as the plain id everywhere
  bool ok() const { return id_ >= 0; }
  bool close() { return close_(std::exchange(id_, -1)) >= 0; }

 private:
  hid_t id_;
  herr_t (*close_)(hid_t);
};

/// Initialises libhdf5, turns off its error output in this thread, and holds a process-wide lock while the session
/// exists (libhdf5 serves one caller at a time anyway).
class Hdf5Session {
 public:
  Hdf5Session();

 private:
  MutexLock lock_;
};

/// "libhdf5 could not <what>".
Status hdf5_failed(const std::string& what);

/// Returns the HDF5 type of an element. A bfloat16 type is committed to `file` under its name (call once per file),
/// unless `file` is negative.
Hdf5Handle make_element_type(DType dtype, hid_t file);

/// Creates a file in `image` without timestamps, with checksummed headers that libhdf5 1.8 and newer read.
/// `metadata_bytes` is an estimate of the size of the metadata, for which one block is reserved.
Hdf5Handle create_in_memory(MemoryImage* image, std::size_t metadata_bytes);
/// As create_in_memory(), but dataset bytes are not aligned: they are at the offset MemoryImage::raw_at. The first
/// block of metadata has `block` bytes.
Hdf5Handle create_stream_in_memory(MemoryImage* image, std::size_t block);

}  // namespace titan::ckpt
