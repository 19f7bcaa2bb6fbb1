#pragma once
// Sizes of files with several hard links: their total, and how many bytes are freed if the names in a set (Links) are
// removed.
#include <cstdint>
#include <map>
#include <string>
#include <utility>

namespace titan::ckpt {

struct FileInfo;
class Fs;

/// A set of file names.
class Links {
 public:
  /// Adds the file at `path`, or every file below the folder `path`. Unreadable parts are not counted.
  void add(Fs& fs, const std::string& path);
  /// Adds everything in `other`, whose names may be further links to the same files.
  void add(const Links& other);
  /// Removes the names in `other`, which were added before.
  void remove(const Links& other);
  std::uint64_t names() const { return names_; }
  std::uint64_t bytes() const { return bytes_; }  ///< size of all names
  std::uint64_t once() const;                     ///< size of all files, each counted once
  std::uint64_t freed() const;                    ///< size of the files all of whose names were added

 private:
  void add_file(const FileInfo& info);

  struct File {
    std::uint64_t bytes = 0, links = 0, found = 0;
  };
  std::map<std::pair<std::uint64_t, std::uint64_t>, File> files_;  // by (device, inode)
  std::uint64_t bytes_ = 0, names_ = 0;
};

}  // namespace titan::ckpt
