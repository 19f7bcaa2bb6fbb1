#pragma once
// The parent folder of a new file or folder. It is created if it is missing, but not its own parent: a path of which
// two levels are missing is probably mistyped.
#include <string>

#include "ckpt/base/result.h"

namespace titan::ckpt {

class Fs;

/// The parent folder of a path.
struct Parent {
  std::string path;      ///< as typed
  std::string real;      ///< with links resolved
  bool missing = false;  ///< true: `path` does not exist, but its own parent does
};

/// The parent folder of `path`, which has no trailing slash. Creates nothing. \error kInvalid (two levels are missing,
/// or a name on the way is not a folder), kFailed
Result<Parent> find_parent(Fs& fs, const std::string& path);

/// The error (kInvalid) that `folder`, in which `path` was to be made, does not exist and is not created.
Status no_folder(const std::string& path, const std::string& folder);

/// Turns `status`, the failure to make or to find `path`, into kInvalid if the path itself is wrong: a part of it is a
/// file or a symbolic link that leads to itself, a name is too long, or `path` exists. Returns any other status
/// unchanged.
Status as_wrong_path(const Status& status, const std::string& path);

/// A folder that was made for a new file or folder. The destructor removes it if it is empty.
class MadeFolder {
 public:
  explicit MadeFolder(Fs& fs) : fs_(fs) {}
  ~MadeFolder();
  MadeFolder(const MadeFolder&) = delete;
  MadeFolder& operator=(const MadeFolder&) = delete;
  /// Creates `parent` if it is missing, and makes its name durable. A folder that existed is never removed. Call it
  /// once.
  Status make(const Parent& parent);

 private:
  Fs& fs_;
  std::string path_;
};

}  // namespace titan::ckpt
