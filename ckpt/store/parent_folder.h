#pragma once
// The parent folder of something new. It is created if missing, but only this one level: a path with two missing levels
// is probably mistyped.
#include <string>

#include "ckpt/base/result.h"

namespace titan::ckpt {

class Fs;

struct Parent {
  std::string path;      ///< as typed
  std::string real;      ///< with links resolved
  bool missing = false;  ///< true: `path` does not exist, but its own parent does
};

/// The parent folder of `path`, which has no trailing slash. Creates nothing. \error kInvalid (two levels are missing,
/// or a name on the way is not a folder), kFailed
Result<Parent> find_parent(Fs& fs, const std::string& path);

/// The error that `folder`, in which `path` should be made, does not exist and is not created. \error kInvalid
Status no_folder(const std::string& path, const std::string& folder);

/// `status` of making or looking for `path`, as kInvalid where no store could make it: a file or a link that leads to
/// itself is on the way, or a name is too long. Another `status` stays as it is.
Status as_wrong_path(const Status& status, const std::string& path);

/// A folder that was made for something new. It goes again with this object while nothing lies in it.
class MadeFolder {
 public:
  explicit MadeFolder(Fs& fs) : fs_(fs) {}
  ~MadeFolder();
  MadeFolder(const MadeFolder&) = delete;
  MadeFolder& operator=(const MadeFolder&) = delete;
  /// Creates `parent` if it is missing, and makes its name durable. Call it once.
  Status make(const Parent& parent);

 private:
  Fs& fs_;
  std::string path_;
};

}  // namespace titan::ckpt
