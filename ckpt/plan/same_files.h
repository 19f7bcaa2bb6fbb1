#pragma once
// Are these the data files that a checkpoint was trained on? By content: names may have changed. Pure.
#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include "ckpt/model/data_position.h"

namespace titan::ckpt {

/// How the files that are there answer to those that a checkpoint names. Empty files have no tokens and count on
/// neither side.
struct FileMatch {
  bool same = false;                 ///< the same contents, under whatever names and in whatever order
  std::vector<std::size_t> order;    ///< when same: per stored file that is not empty, its place among those there
  std::vector<std::string> renamed;  ///< when same: "py.txt is moved.txt now", in stored order
  std::vector<std::string> changed;  ///< when not: "b.txt (2000 bytes, 2004 now)", by name
  std::vector<std::string> added, removed;
  bool reordered() const;  ///< the stored order is not the one they are given in
};

/// Files are equal when size and blocks are; of several equal ones those that kept their name are paired first.
FileMatch match_files(std::span<const DataFile> stored, std::span<const DataFile> there);

/// What a person has to know of data that are the same: renamed, reordered; "" when neither.
std::string same_files_note(const FileMatch& match);
/// What differs: "changed: b.txt (2000 bytes, 2004 now); added: c.txt"; "" when nothing does.
std::string other_files_note(const FileMatch& match);

/// The first `most` of `words` with ", " between them, and how many more there are.
std::string first_few(std::span<const std::string> words, std::size_t most = 3);
/// The same of as many as fit into `length` bytes, the first one always.
std::string first_within(std::span<const std::string> words, std::size_t length);
/// The same of the names of `files`.
std::string file_names(std::span<const DataFile> files, std::size_t most = 3);

}  // namespace titan::ckpt
