#pragma once
// Compares the data files of a start with those of a checkpoint, by content; names may differ. Pure.
#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include "ckpt/model/data_position.h"

namespace titan::ckpt {

/// Result of the comparison. "Stored" files are those of the checkpoint, "present" files those of the start. Empty
/// files are ignored on both sides.
struct FileMatch {
  bool same = false;  ///< the contents are equal, ignoring names and order
  /// If same: for each stored file, the index of the equal present file. Empty files are not counted.
  std::vector<std::size_t> order;
  std::vector<std::string> renamed;  ///< if same: "py.txt is moved.txt now", in stored order
  std::vector<std::string> changed;  ///< if not same: other contents under a name: "b.txt (2000 bytes, 2004 now)"
  std::vector<std::string> added, removed;  ///< if not same: names of files that only one side has
  bool reordered() const;                   ///< whether the order of the present files differs from the stored order
};

/// Matches the present files (`there`) with the stored ones by size and block digest. Among several equal files, those
/// with the same name are paired first.
FileMatch match_files(std::span<const DataFile> stored, std::span<const DataFile> there);

/// The note for the user about equal files that were renamed or reordered; "" if they were neither.
std::string same_files_note(const FileMatch& match);
/// The differences: "changed: b.txt (2000 bytes, 2004 now); added: c.txt". Empty if there are none.
std::string other_files_note(const FileMatch& match);

/// The first `most` of `words`, joined by ", ", then the number of the others.
std::string first_few(std::span<const std::string> words, std::size_t most = 3);
/// As first_few(), with as many words as fit into `length` bytes, but at least one.
std::string first_within(std::span<const std::string> words, std::size_t length);
/// As first_few(), for the names of `files`.
std::string file_names(std::span<const DataFile> files, std::size_t most = 3);

}  // namespace titan::ckpt
