#include <fcntl.h>
#include <linux/openat2.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <utility>

#include "ckpt/base/denied.h"
#include "ckpt/base/errno_status.h"
#include "ckpt/base/files.h"
#include "ckpt/base/path.h"
#include "ckpt/base/posix_file.h"

namespace titan::ckpt {
namespace {

class Descriptor {
 public:
  explicit Descriptor(int fd) : fd_(fd) {}
  ~Descriptor() {
    if (fd_ >= 0) ::close(fd_);
  }
  Descriptor(Descriptor&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  Descriptor& operator=(Descriptor&& other) noexcept {
    std::swap(fd_, other.fd_);
    return *this;
  }
  int get() const { return fd_; }
  int release() { return std::exchange(fd_, -1); }

 private:
  int fd_;
};

Status open_error(int error, const std::string& path) {
  Status status = read_errno_status(error, path, "open");
  if (error == ENOENT || error == ENOTDIR) status.code = Code::kNotFound;
  if (status.code == Code::kFailed && status.hint.empty()) status.hint = denied_hint(error, path, "open");
  return status;
}

int open_at(int dir, const std::string& name, int flags) {
  int fd = ::openat(dir, name.c_str(), flags | O_CLOEXEC);
  while (fd < 0 && errno == EINTR) fd = ::openat(dir, name.c_str(), flags | O_CLOEXEC);
  return fd;
}

int open_beneath(int dir, const std::string& member, int flags) {
  open_how how{};
  how.flags = static_cast<std::uint64_t>(flags | O_CLOEXEC);
  how.resolve = RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS;
  long fd = ::syscall(SYS_openat2, dir, member.c_str(), &how, sizeof how);
  while (fd < 0 && errno == EINTR) fd = ::syscall(SYS_openat2, dir, member.c_str(), &how, sizeof how);
  return static_cast<int>(fd);
}

bool is_link(int fd) {
  struct stat info {};
  return ::fstat(fd, &info) == 0 && S_ISLNK(info.st_mode);
}

// Opens each name without following a link, and checks what was opened. So nobody can put a link there in between.
Result<int> by_name(Descriptor dir, const std::string& folder, const std::string& member, int flags) {
  for (std::size_t begin = 0; begin <= member.size();) {
    const std::size_t end = std::min(member.find('/', begin), member.size());
    const std::string name = member.substr(begin, end - begin), path = join_path(folder, member.substr(0, end));
    begin = end + 1;
    if (name.empty() || name == "..") return corrupt(path + ": not a name of something inside " + folder);
    const bool last = end == member.size();
    Descriptor next(open_at(dir.get(), name, (last ? flags : O_PATH) | O_NOFOLLOW));
    if (next.get() < 0) return errno == ELOOP ? link_refused(path) : open_error(errno, path);
    if (is_link(next.get())) return link_refused(path);
    dir = std::move(next);
  }
  return dir.release();
}

}  // namespace

Result<int> open_member_file(const std::string& folder, const std::string& member, int flags, Walk walk) {
  Descriptor dir(open_at(AT_FDCWD, folder, O_PATH | O_DIRECTORY));
  if (dir.get() < 0) return open_error(errno, folder);
  if (walk == Walk::kKernel) {
    const int fd = open_beneath(dir.get(), member, flags);
    if (fd >= 0) return fd;
    // Linux before 5.6 lacks the call, and some containers forbid it. by_name() also finds out which name is a link.
    if (errno != ENOSYS && errno != EPERM && errno != ELOOP && errno != EXDEV)
      return open_error(errno, join_path(folder, member));
  }
  return by_name(std::move(dir), folder, member, flags);
}

}  // namespace titan::ckpt
