#pragma once
// Small helpers around files for tests.
#include <string>
#include <string_view>
#include <vector>

#include "ckpt/base/status.h"

namespace titan::ckpt {
class Fs;
}

namespace titan::ckpt::testing {

/// A fresh folder of the real file system, removed with everything in it by the destructor.
class TempDir {
 public:
  TempDir();
  ~TempDir();
  TempDir(const TempDir&) = delete;
  TempDir& operator=(const TempDir&) = delete;
  const std::string& path() const { return path_; }
  std::string operator/(const std::string& name) const { return path_ + "/" + name; }

 private:
  std::string path_;
};

/// Writes a new file, making missing folders.
Status put_text(Fs& fs, const std::string& path, std::string_view text);
/// The content of a file, or "<error: ...>".
std::string get_text(Fs& fs, const std::string& path);
/// Every path below `path`, relative, sorted, folders with a trailing '/'.
std::vector<std::string> tree(Fs& fs, const std::string& path);

}  // namespace titan::ckpt::testing
