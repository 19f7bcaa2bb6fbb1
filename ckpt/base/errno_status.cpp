#include "ckpt/base/errno_status.h"

#include <sys/statvfs.h>

#include <cerrno>
#include <system_error>

#include "ckpt/base/denied.h"
#include "ckpt/base/size_text.h"

namespace titan::ckpt {

Status full_status(int error, const std::string& path, const std::string& call, const std::optional<SpaceLeft>& left) {
  const bool no_inodes = error == ENOSPC && left && left->inodes > 0 && left->inodes_free == 0 && left->bytes > 0;
  const std::string free = left ? "; " + size_text(left->bytes) + " free on this file system" : "";
  Status status = failed(path + ": " + call + ": " + (no_inodes ? "no inodes left (" : "disk full (") +
                         std::generic_category().message(error) + ")" + free);
  status.error = error;
  if (error == EDQUOT)
    return status.with_hint("the quota of this user or project is used up: remove files, or ask for more");
  if (no_inodes)
    return status.with_hint("every file takes an inode: remove files (df -i shows inodes), or keep fewer checkpoints");
  return status.with_hint("free some space (df -h shows file systems), or keep fewer checkpoints");
}

Status errno_status(int error, const std::string& path, const std::string& call) {
  if (error == ENOSPC || error == EDQUOT) {
    struct statvfs info {};
    const std::size_t slash = path.rfind('/');
    const std::string parent = slash == std::string::npos ? "." : path.substr(0, slash + 1);
    if (::statvfs(path.c_str(), &info) != 0 && ::statvfs(parent.c_str(), &info) != 0)
      return full_status(error, path, call, std::nullopt);
    return full_status(error, path, call,
                       SpaceLeft{std::uint64_t{info.f_bavail} * info.f_frsize, info.f_files, info.f_favail});
  }
  Status status = failed(path + ": " + call + ": " + std::generic_category().message(error));
  status.error = error;
  if (error == ELOOP) {
    status.hint = denied_hint(error, path, call);
    if (status.hint.empty()) status.hint = "symbolic links are not followed here: give the real path";
  }
  if (error == EFBIG)
    status.hint = "a limit of file sizes is in force: `ulimit -f` shows this process's, or the file system has its own";
  return status;
}

Status read_errno_status(int error, const std::string& path, const std::string& call) {
  Status status = errno_status(error, path, call);
  // ENODATA: the kernel's error for a bad sector that is read with O_DIRECT.
  if (error == EIO || error == ENODATA) status.code = Code::kMediaError;
  return status;
}

}  // namespace titan::ckpt
