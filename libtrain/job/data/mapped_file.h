#pragma once
// A read-only memory mapping of a regular file.
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

#include "ckpt/base/result.h"

namespace titan::train {

/// Owns one mapping; an empty file maps to an empty span. A file that shrinks while mapped ends the process
/// (mapping_guard.h).
class MappedFile {
 public:
  /// Maps `path` (symbolic links are followed). \error kInvalid: missing, unreadable, or not a regular file; kFailed:
  /// the process cannot have more mappings
  static ckpt::Result<MappedFile> open(const std::string& path);
  MappedFile(MappedFile&& other) noexcept;
  MappedFile& operator=(MappedFile&& other) noexcept;
  ~MappedFile();

  const std::string& path() const { return path_; }
  std::span<const std::byte> bytes() const { return {static_cast<const std::byte*>(data_), size_}; }

 private:
  MappedFile(std::string path, void* data, std::size_t size) : path_(std::move(path)), data_(data), size_(size) {}
  std::string path_;
  void* data_ = nullptr;
  std::size_t size_ = 0;
};

}  // namespace titan::train
