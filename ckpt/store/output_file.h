#pragma once
// A file that a tool makes for its user, outside checkpoints. Its name appears only once the file is complete.
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "ckpt/store/parent_folder.h"

namespace titan::ckpt {

class File;
class Fs;

/// The file is written under a temporary name, and renamed by publish(). The destructor removes an unpublished file.
class OutputFile {
 public:
  /// Creates the parent folder if only that one is missing. \error kInvalid: `out` must not be written
  /// (check_output_file, find_parent); kFailed
  static Result<std::unique_ptr<OutputFile>> create(Fs& fs, const std::string& out);
  ~OutputFile();
  OutputFile(const OutputFile&) = delete;
  OutputFile& operator=(const OutputFile&) = delete;

  const std::string& temporary() const { return temporary_; }
  Status append(std::span<const std::byte> bytes);
  /// Makes the file durable under the name `out`, which is checked again. \error as create()
  Status publish();

 private:
  OutputFile(Fs& fs, const std::string& out);
  Fs& fs_;
  MadeFolder made_;  // destroyed after the destructor has removed the file in it
  std::string out_, temporary_;
  std::unique_ptr<File> file_;
  std::uint64_t offset_ = 0;
  bool published_ = false;
};

/// Writes `text` as the whole file `out`. \error as OutputFile::create() and publish()
Status write_output(Fs& fs, const std::string& out, std::string_view text);

}  // namespace titan::ckpt
