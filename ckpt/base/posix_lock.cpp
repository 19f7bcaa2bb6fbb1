#include <fcntl.h>
#include <linux/magic.h>
#include <sys/file.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <iterator>

#include "ckpt/base/errno_status.h"
#include "ckpt/base/posix_file.h"

namespace titan::ckpt {
namespace {

// File systems that are used by one kernel only. On others, mount options decide which hosts see a lock (NFS:
// local_lock, nolock; Lustre: localflock).
bool belongs_to_one_kernel(int fd) {
  constexpr long kXfs = 0x58465342, kZfs = 0x2fc12fc1, kBcachefs = static_cast<long>(0xca451a4e);
  constexpr long kLocal[] = {EXT4_SUPER_MAGIC, kXfs, BTRFS_SUPER_MAGIC, TMPFS_MAGIC, RAMFS_MAGIC, OVERLAYFS_SUPER_MAGIC,
                             F2FS_SUPER_MAGIC, kZfs, kBcachefs};
  struct statfs info {};
  return ::fstatfs(fd, &info) == 0 &&
         std::find(std::begin(kLocal), std::end(kLocal), static_cast<long>(info.f_type)) != std::end(kLocal);
}

}  // namespace

Result<LockReach> take_flock(int fd, const std::string& path) {
  int taken = ::flock(fd, LOCK_EX | LOCK_NB);
  while (taken < 0 && errno == EINTR) taken = ::flock(fd, LOCK_EX | LOCK_NB);
  if (taken == 0) return belongs_to_one_kernel(fd) ? LockReach::kKernel : LockReach::kUnknown;
  const int error = errno;
  // Lustre without -o flock; NFS without a lock server; others.
  if (error == ENOSYS || error == ENOLCK || error == EOPNOTSUPP) return LockReach::kNone;
  if (error == EWOULDBLOCK) return locked(path + ": locked by another process");
  return errno_status(error, path, "flock");
}

Status send_written(int fd, const std::string& path) {
  // A client of a network file system sends its cached writes when any descriptor of the file is closed.
  const int second = ::fcntl(fd, F_DUPFD_CLOEXEC, 0);
  if (second < 0) return ok_status();  // no descriptor left: the kernel sends the data later
  if (::close(second) < 0 && errno != EINTR) return errno_status(errno, path, "close");
  return ok_status();
}

}  // namespace titan::ckpt
