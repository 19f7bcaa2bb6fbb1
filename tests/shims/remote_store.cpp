// A library to preload: below the folder TITAN_SHIM_ROOT the file system answers as NFS and Lustre do. TITAN_SHIM_STORE
// lists what, separated by commas:
//   no-exchange      renameat2(RENAME_EXCHANGE) is EINVAL
//   no-noreplace     renameat2(RENAME_NOREPLACE) is EINVAL
//   silly-rename     unlink of a file that some process has open makes it a `.nfs*` beside it, which stays until the
//   last one closes it, so
//                    that rmdir fails with ENOTEMPTY; unlink of such a name is EBUSY
//   busy-rmdir       rmdir of a folder with a `.nfs*` is EBUSY instead
//   flock=ENOLCK     (or ENOSYS, EOPNOTSUPP) what flock fails with
//   flock=local      flock is granted to all: hosts that do not share locks
// TITAN_SHIM_LOG names a file to which each changed answer is appended, one line each.
#include <dirent.h>
#include <dlfcn.h>
#include <fcntl.h>
#include <limits.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>

namespace {

template <typename Function>
Function* next(const char* name) {
  return reinterpret_cast<Function*>(dlsym(RTLD_NEXT, name));
}

bool answers(const char* what) {
  static const std::string list = [] {
    const char* text = std::getenv("TITAN_SHIM_STORE");
    return "," + std::string(text ? text : "") + ",";
  }();
  return list.find("," + std::string(what) + ",") != std::string::npos;
}

const std::string& root() {
  static const std::string value = [] {
    const char* text = std::getenv("TITAN_SHIM_ROOT");
    char real[PATH_MAX];
    return text && ::realpath(text, real) ? std::string(real) + "/" : std::string();
  }();
  return value;
}

// The real path of what `path` names, the last part not followed; empty where its folder is not there.
std::string place(const char* path) {
  const std::string text = path;
  const std::size_t slash = text.find_last_of('/');
  char real[PATH_MAX];
  if (!::realpath(slash == std::string::npos ? "." : text.substr(0, slash + 1).c_str(), real)) return {};
  return std::string(real) + "/" + text.substr(slash == std::string::npos ? 0 : slash + 1);
}

bool ours(const char* path) { return !root().empty() && place(path).starts_with(root()); }

void log(const char* call, const std::string& path, int error) {
  static const char* file = std::getenv("TITAN_SHIM_LOG");
  if (!file) return;
  const int saved = errno, fd = ::open(file, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0666);
  const std::string line = std::string(call) + " " + path + " " + (error ? strerrorname_np(error) : "renamed") + "\n";
  if (fd >= 0) (void)!::write(fd, line.data(), line.size());
  if (fd >= 0) next<int(int)>("close")(fd);
  errno = saved;
}

int fail(const char* call, const std::string& path, int error) {
  log(call, path, error);
  errno = error;
  return -1;
}

bool open_in(const char* fds, const struct stat& wanted) {
  DIR* dir = next<DIR*(const char*)>("opendir")(fds);
  bool found = false;
  for (const dirent* item = dir ? ::readdir(dir) : nullptr; item && !found; item = ::readdir(dir)) {
    struct stat info {};
    found = ::stat((std::string(fds) + "/" + item->d_name).c_str(), &info) == 0 && info.st_dev == wanted.st_dev &&
            info.st_ino == wanted.st_ino;
  }
  if (dir) ::closedir(dir);
  return found;
}

// Whether any process that we may look at has the file open.
bool is_open(const std::string& path) {
  struct stat wanted {};
  if (::lstat(path.c_str(), &wanted) != 0 || !S_ISREG(wanted.st_mode)) return false;
  DIR* proc = next<DIR*(const char*)>("opendir")("/proc");
  bool found = false;
  for (const dirent* item = proc ? ::readdir(proc) : nullptr; item && !found; item = ::readdir(proc))
    if (item->d_name[0] >= '0' && item->d_name[0] <= '9')
      found = open_in((std::string("/proc/") + item->d_name + "/fd").c_str(), wanted);
  if (proc) ::closedir(proc);
  return found;
}

bool is_silly(const std::string& path) { return path.compare(path.find_last_of('/') + 1, 4, ".nfs") == 0; }

// The client removes a `.nfs*` at the last close; nobody sees the difference when it is done before the folder is
// looked at. Says whether one is left.
bool collect(const std::string& folder) {
  DIR* dir = next<DIR*(const char*)>("opendir")(folder.c_str());
  bool left = false;
  for (const dirent* item = dir ? ::readdir(dir) : nullptr; item; item = ::readdir(dir)) {
    const std::string path = folder + "/" + item->d_name;
    if (!is_silly(path)) continue;
    if (is_open(path))
      left = true;
    else
      next<int(const char*)>("unlink")(path.c_str());
  }
  if (dir) ::closedir(dir);
  return left;
}

}  // namespace

extern "C" {

int renameat2(int from_dir, const char* from, int to_dir, const char* to, unsigned flags) {
  const bool refused =
      ((flags & RENAME_EXCHANGE) && answers("no-exchange")) || ((flags & RENAME_NOREPLACE) && answers("no-noreplace"));
  if (refused && ours(from)) return fail(flags & RENAME_EXCHANGE ? "exchange" : "noreplace", from, EINVAL);
  return next<int(int, const char*, int, const char*, unsigned)>("renameat2")(from_dir, from, to_dir, to, flags);
}

int unlink(const char* path) {
  const auto real = next<int(const char*)>("unlink");
  if (!answers("silly-rename") || !ours(path)) return real(path);
  const std::string where = place(path);
  if (!is_open(where)) return real(path);
  if (is_silly(where)) return fail("unlink", where, EBUSY);
  static std::atomic<unsigned> count = 0;
  const std::string silly = where.substr(0, where.find_last_of('/') + 1) + ".nfs" + std::to_string(::getpid()) + "x" +
                            std::to_string(count++);
  log("unlink", where, 0);
  return ::rename(where.c_str(), silly.c_str());
}

int rmdir(const char* path) {
  const auto real = next<int(const char*)>("rmdir");
  if (!answers("silly-rename") || !ours(path)) return real(path);
  const std::string where = place(path);
  if (collect(where)) return fail("rmdir", where, answers("busy-rmdir") ? EBUSY : ENOTEMPTY);
  return real(path);
}

DIR* opendir(const char* path) {
  if (answers("silly-rename") && ours((std::string(path) + "/.").c_str())) collect(path);
  return next<DIR*(const char*)>("opendir")(path);
}

int flock(int fd, int operation) {
  char link[64], path[PATH_MAX];
  std::snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
  const ssize_t length = ::readlink(link, path, sizeof path - 1);
  if (length > 0 && !root().empty() && std::string(path, static_cast<std::size_t>(length)).starts_with(root())) {
    for (const auto& [what, error] : {std::pair("flock=ENOLCK", ENOLCK), std::pair("flock=ENOSYS", ENOSYS),
                                      std::pair("flock=EOPNOTSUPP", EOPNOTSUPP)})
      if (answers(what)) return fail("flock", std::string(path, static_cast<std::size_t>(length)), error);
    if (answers("flock=local")) return 0;
  }
  return next<int(int, int)>("flock")(fd, operation);
}

}  // extern "C"
