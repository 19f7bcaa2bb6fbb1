#pragma once
// The folder that something new will lie in. Where it is missing it is made: one level, since more of them are rather a
// slip.
#include <string>

#include "ckpt/base/fs.h"

namespace titan::ckpt {

struct Parent {
  std::string path;      ///< as typed
  std::string real;      ///< without links
  bool missing = false;  ///< and the folder that it lies in is there
};

/// The folder of `path`, which has no slash at its end. Makes nothing. \error kInvalid (two levels are missing, or
/// something else than a folder is in the way), kFailed
Result<Parent> find_parent(Fs& fs, const std::string& path);

/// What is said where `folder`, in which `path` should be made, is not there and is not made. \error kInvalid
Status no_folder(const std::string& path, const std::string& folder);

/// A folder that was made for something new. It goes again with this object while nothing lies in it.
class MadeFolder {
 public:
  explicit MadeFolder(Fs& fs) : fs_(fs) {}
  ~MadeFolder();
  MadeFolder(const MadeFolder&) = delete;
  MadeFolder& operator=(const MadeFolder&) = delete;
  /// Makes `parent` where it is missing; its name is durable then. Once.
  Status make(const Parent& parent);

 private:
  Fs& fs_;
  std::string path_;
};

}  // namespace titan::ckpt
