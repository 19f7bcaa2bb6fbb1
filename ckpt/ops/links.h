#pragma once
// Files that several names may share: how many bytes they have, and how many are freed when these names go.
#include <cstdint>
#include <map>
#include <string>
#include <utility>

#include "ckpt/base/fs.h"

namespace titan::ckpt {

class Links {
 public:
  /// Adds the file, or every file below the folder, at `path`. What cannot be read counts as nothing.
  void add(Fs& fs, const std::string& path);
  /// Adds what `other` has, other names of the same files perhaps.
  void add(const Links& other);
  std::uint64_t names() const { return names_; }
  std::uint64_t bytes() const { return bytes_; }  ///< of all names
  std::uint64_t once() const;                     ///< of all files, each counted once
  std::uint64_t freed() const;                    ///< of the files all of whose names were added

 private:
  void add_file(const FileInfo& info);

  struct File {
    std::uint64_t bytes = 0, links = 0, found = 0;
  };
  std::map<std::pair<std::uint64_t, std::uint64_t>, File> files_;  // by device and inode
  std::uint64_t bytes_ = 0, names_ = 0;
};

}  // namespace titan::ckpt
