#pragma once
// A file that a tool makes for its user, outside checkpoints. It appears under its name whole, or not at all.
#include <memory>
#include <span>
#include <string>

#include "ckpt/base/fs.h"
#include "ckpt/store/parent_folder.h"

namespace titan::ckpt {

/// Grows under a temporary name and gets its own name in publish(). The destructor removes an unpublished file.
class OutputFile {
 public:
  /// Makes one missing level of folders. \error kInvalid: `out` must not be written (check_output_file, find_parent);
  /// kFailed
  static Result<std::unique_ptr<OutputFile>> create(Fs& fs, const std::string& out);
  ~OutputFile();
  OutputFile(const OutputFile&) = delete;
  OutputFile& operator=(const OutputFile&) = delete;

  const std::string& temporary() const { return temporary_; }
  Status append(std::span<const std::byte> bytes);
  /// Durable under its name once this is ok. \error as create: somebody may have put something else there
  Status publish();

 private:
  OutputFile(Fs& fs, const std::string& out);
  Fs& fs_;
  MadeFolder made_;  // goes after what lies in it
  std::string out_, temporary_;
  std::unique_ptr<File> file_;
  std::uint64_t offset_ = 0;
  bool published_ = false;
};

}  // namespace titan::ckpt
