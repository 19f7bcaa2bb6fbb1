#include "ckpt/store/parent_folder.h"

#include <cerrno>

#include "ckpt/base/fs.h"
#include "ckpt/base/path.h"
#include "ckpt/base/quoting.h"

namespace titan::ckpt {

Status no_folder(const std::string& path, const std::string& folder) {
  return invalid(path + " cannot be made: there is no folder " + folder).with_hint("mkdir -p " + shell_word(folder));
}

Status as_wrong_path(const Status& status, const std::string& path) {
  const bool wrong =
      status.error == ENOTDIR || status.error == ELOOP || status.error == ENAMETOOLONG || status.error == EEXIST;
  if (status.ok() || !wrong) return status;
  Status invalid = status.wrapped(path + " cannot be made");
  invalid.code = Code::kInvalid;
  return invalid;
}

Result<Parent> find_parent(Fs& fs, const std::string& path) {
  Parent parent{parent_path(path), "", false};
  auto real = fs.real_path(parent.path);
  if (!real.ok()) {
    if (real.status().code != Code::kNotFound) return as_wrong_path(real.status(), path);
    const auto above = fs.real_path(parent_path(parent.path));
    const auto info = above.ok() ? fs.stat(*above) : above.status();
    const std::string missing = base_name(parent.path);
    // A link whose target does not exist occupies the name, so it is not a missing folder.
    if (!info.ok() || info->type != FileType::kDirectory || missing == "." || missing == ".." ||
        fs.stat(parent.path).ok())
      return no_folder(path, parent.path);
    real = join_path(*above, missing);
    parent.missing = true;
  }
  parent.real = *real;
  if (const auto info = fs.stat(parent.real); info.ok() && info->type != FileType::kDirectory)
    return invalid(path + " cannot be made: " + parent.path + " is not a folder");
  return parent;
}

Status MadeFolder::make(const Parent& parent) {
  if (!parent.missing) return ok_status();
  TITAN_RETURN_IF_ERROR(fs_.make_dir(parent.path));
  path_ = parent.path;
  return fs_.sync_dir(parent_path(parent.path));
}

MadeFolder::~MadeFolder() {
  if (path_.empty()) return;
  if (const auto entries = fs_.list(path_); entries.ok() && entries->empty()) (void)fs_.remove_dir(path_).ok();
}

}  // namespace titan::ckpt
