#include "tests/calls/kernel.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdarg>
#include <mutex>

namespace titan::test {
namespace {

struct State {
  std::mutex mutex;
  std::string folder;
  std::vector<std::string> calls;
  std::string failing;
  int error = 0, times = 0;
  bool on = false, clones = false;
};

State& state() {
  static State state;
  return state;
}

std::string path_of(int fd) {
  char path[4096];
  const ssize_t length = ::readlink(("/proc/self/fd/" + std::to_string(fd)).c_str(), path, sizeof path);
  return {path, static_cast<std::size_t>(std::max<ssize_t>(length, 0))};
}

/// Notes the call. Returns whether it is to fail, with errno set.
bool seen(const char* call, const std::string& path) {
  State& s = state();
  const std::lock_guard lock(s.mutex);
  if (!s.on || !path.starts_with(s.folder)) return false;
  s.calls.push_back(std::string(call) + " " + path);
  if (s.times == 0 || (!s.failing.empty() && s.failing != call)) return false;
  --s.times;
  errno = s.error;
  return true;
}

bool clones(const char* call, int fd) {
  State& s = state();
  const std::string path = path_of(fd);
  const std::lock_guard lock(s.mutex);
  return s.on && s.clones && std::string_view(call) == "ioctl" && path.starts_with(s.folder);
}

}  // namespace

Kernel::Kernel(std::string folder) {
  const std::lock_guard lock(state().mutex);
  state().folder = std::move(folder);
  state().calls.clear();
  state().times = 0;
  state().clones = false;
  state().on = true;
}

Kernel::~Kernel() {
  const std::lock_guard lock(state().mutex);
  state().on = false;
}

void Kernel::fail(const std::string& call, int error, int times) {
  const std::lock_guard lock(state().mutex);
  state().failing = call;
  state().error = error;
  state().times = times;
}

void Kernel::clone_works() {
  const std::lock_guard lock(state().mutex);
  state().clones = true;
}

bool Kernel::failed() const {
  const std::lock_guard lock(state().mutex);
  return state().times == 0;
}

std::vector<std::string> Kernel::calls() const {
  const std::lock_guard lock(state().mutex);
  return state().calls;
}

std::size_t Kernel::count(const std::string& call, const std::string& path) const {
  const std::vector<std::string> all = calls();
  return static_cast<std::size_t>(std::count(all.begin(), all.end(), call + " " + path));
}

std::size_t Kernel::place(const std::string& call, const std::string& path) const {
  const std::vector<std::string> all = calls();
  return static_cast<std::size_t>(std::find(all.begin(), all.end(), call + " " + path) - all.begin());
}

}  // namespace titan::test

using titan::test::clones;
using titan::test::path_of;
using titan::test::seen;

// What the linker calls in place of name() (__wrap_name) and name() itself (__real_name). NOLINTBEGIN
extern "C" {

int __real_open(const char* path, int flags, ...);
int __real_openat(int dir, const char* path, int flags, ...);
ssize_t __real_pread(int fd, void* out, size_t size, off_t offset);
ssize_t __real_pwrite(int fd, const void* data, size_t size, off_t offset);
ssize_t __real_read(int fd, void* out, size_t size);
ssize_t __real_write(int fd, const void* data, size_t size);
int __real_ftruncate(int fd, off_t size);
int __real_fallocate(int fd, int mode, off_t offset, off_t size);
int __real_fdatasync(int fd);
int __real_fsync(int fd);
int __real_close(int fd);
int __real_flock(int fd, int operation);
int __real_ioctl(int fd, unsigned long request, ...);
int __real_fstat(int fd, struct stat* info);
int __real_lstat(const char* path, struct stat* info);
int __real_statvfs(const char* path, struct statvfs* info);
int __real_mkdir(const char* path, mode_t mode);
int __real_rename(const char* from, const char* to);
int __real_renameat2(int from_dir, const char* from, int to_dir, const char* to, unsigned flags);
int __real_link(const char* from, const char* to);
int __real_unlink(const char* path);
struct dirent* __real_readdir(DIR* dir);

int __wrap_open(const char* path, int flags, ...) {
  va_list rest;
  va_start(rest, flags);
  const mode_t mode = flags & O_CREAT ? va_arg(rest, mode_t) : 0;
  va_end(rest);
  return seen("open", path) ? -1 : __real_open(path, flags, mode);
}
int __wrap_openat(int dir, const char* path, int flags, ...) {
  va_list rest;
  va_start(rest, flags);
  const mode_t mode = flags & O_CREAT ? va_arg(rest, mode_t) : 0;
  va_end(rest);
  return seen("openat", path_of(dir) + "/" + path) ? -1 : __real_openat(dir, path, flags, mode);
}
ssize_t __wrap_pread(int fd, void* out, size_t size, off_t offset) {
  return seen("pread", path_of(fd)) ? -1 : __real_pread(fd, out, size, offset);
}
ssize_t __wrap_pwrite(int fd, const void* data, size_t size, off_t offset) {
  if (seen("pwrite", path_of(fd))) return errno == 0 ? 0 : -1;
  return __real_pwrite(fd, data, size, offset);
}
struct dirent* __wrap_readdir(DIR* dir) {
  const int saved = errno;
  const std::string path = path_of(dirfd(dir));
  errno = saved;
  return seen("readdir", path) ? nullptr : __real_readdir(dir);
}
ssize_t __wrap_read(int fd, void* out, size_t size) {
  return seen("read", path_of(fd)) ? -1 : __real_read(fd, out, size);
}
ssize_t __wrap_write(int fd, const void* data, size_t size) {
  return seen("write", path_of(fd)) ? -1 : __real_write(fd, data, size);
}
int __wrap_ftruncate(int fd, off_t size) { return seen("ftruncate", path_of(fd)) ? -1 : __real_ftruncate(fd, size); }
int __wrap_fallocate(int fd, int mode, off_t offset, off_t size) {
  return seen("fallocate", path_of(fd)) ? -1 : __real_fallocate(fd, mode, offset, size);
}
int __wrap_fdatasync(int fd) { return seen("fdatasync", path_of(fd)) ? -1 : __real_fdatasync(fd); }
int __wrap_fsync(int fd) { return seen("fsync", path_of(fd)) ? -1 : __real_fsync(fd); }
int __wrap_flock(int fd, int operation) { return seen("flock", path_of(fd)) ? -1 : __real_flock(fd, operation); }
int __wrap_fstat(int fd, struct stat* info) { return seen("fstat", path_of(fd)) ? -1 : __real_fstat(fd, info); }
int __wrap_lstat(const char* path, struct stat* info) { return seen("lstat", path) ? -1 : __real_lstat(path, info); }
int __wrap_statvfs(const char* path, struct statvfs* info) {
  return seen("statvfs", path) ? -1 : __real_statvfs(path, info);
}
int __wrap_mkdir(const char* path, mode_t mode) { return seen("mkdir", path) ? -1 : __real_mkdir(path, mode); }
int __wrap_rename(const char* from, const char* to) { return seen("rename", from) ? -1 : __real_rename(from, to); }
int __wrap_renameat2(int from_dir, const char* from, int to_dir, const char* to, unsigned flags) {
  return seen("renameat2", from) ? -1 : __real_renameat2(from_dir, from, to_dir, to, flags);
}
int __wrap_link(const char* from, const char* to) { return seen("link", from) ? -1 : __real_link(from, to); }
int __wrap_unlink(const char* path) { return seen("unlink", path) ? -1 : __real_unlink(path); }

// A failed close() has closed.
int __wrap_close(int fd) {
  const int saved = errno;
  const std::string path = path_of(fd);
  errno = saved;
  const bool fails = seen("close", path);
  const int error = errno;
  const int result = __real_close(fd);
  if (!fails) return result;
  errno = error;
  return -1;
}

int __wrap_ioctl(int fd, unsigned long request, ...) {
  va_list rest;
  va_start(rest, request);
  const long argument = va_arg(rest, long);
  va_end(rest);
  if (seen("ioctl", path_of(fd))) return -1;
  return clones("ioctl", fd) ? 0 : __real_ioctl(fd, request, argument);
}

}  // extern "C"
// NOLINTEND
