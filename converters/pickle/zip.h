#pragma once
// A torch.save archive inside a file: a zip whose entries are stored without compression. Entries are found through the
// central directory.
// \source PKWARE APPNOTE 6.3.9, sections 4.3 and 4.5.3; torch/csrc and caffe2/serialize/inline_container.cc
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "ckpt/base/result.h"

namespace titan::ckpt {
class File;
}

namespace titan::convert {

using ckpt::Result;
using ckpt::Status;

/// One entry of the archive.
struct ZipEntry {
  std::string name;          ///< without the archive's root folder: "data.pkl", "data/0"
  std::uint64_t header = 0;  ///< offset of the local header in the file
  std::uint64_t bytes = 0;
  std::uint32_t crc = 0;
  bool operator==(const ZipEntry&) const = default;
};

/// The central directory of an archive at [offset, offset + length) of a file. The caller keeps the file open.
class ZipArchive {
 public:
  /// Reads the end of the archive: end records (zip64 or not) and central directory. `what` names the archive in
  /// messages.
  /// \error kCorrupt naming what is wrong: no end record, a directory outside the archive, compressed or encrypted
  /// entries, entries that overlap or appear twice, names with "..", several root folders
  static Result<ZipArchive> open(ckpt::File& file, std::string what, std::uint64_t offset, std::uint64_t length);

  const std::vector<ZipEntry>& entries() const { return entries_; }
  const ZipEntry* find(std::string_view name) const;
  const std::string& what() const { return what_; }
  const std::string& root() const { return root_; }  ///< the archive's root folder
  /// The offset in the file of the entry's first byte of data, computed from its local header. \error kCorrupt
  Result<std::uint64_t> payload(const ZipEntry& entry) const;
  /// The bytes of a small entry, checked against its CRC. \error kCorrupt (larger than `limit`, CRC)
  Result<std::string> read(const ZipEntry& entry, std::uint64_t limit) const;
  /// The error for bytes of `entry` that do not match its CRC.
  Status crc_error(const ZipEntry& entry, std::uint64_t payload, std::uint32_t found) const;

 private:
  Status parse_directory(std::string_view directory, std::uint64_t count, std::uint64_t directory_offset);
  Status bad(const std::string& message) const;

  ckpt::File* file_ = nullptr;
  std::string what_, root_;
  std::uint64_t offset_ = 0, length_ = 0;
  std::vector<ZipEntry> entries_;
};

}  // namespace titan::convert
