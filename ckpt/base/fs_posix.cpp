#include "ckpt/base/fs_posix.h"

#include <dirent.h>
#include <fcntl.h>
#include <linux/fs.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstdio>
#include <cstdlib>

#include "ckpt/base/errno_status.h"
#include "ckpt/base/files.h"
#include "ckpt/base/path.h"
#include "ckpt/base/posix_file.h"
#include "ckpt/base/scan_file.h"

namespace titan::ckpt {
namespace {

constexpr std::uint64_t kLockTextLimit = 64 * 1024;

FileType type_of(mode_t mode) {
  if (S_ISREG(mode)) return FileType::kFile;
  if (S_ISLNK(mode)) return FileType::kLink;
  return S_ISDIR(mode) ? FileType::kDirectory : FileType::kOther;
}

FileInfo info_of(const struct stat& info) {
  return {type_of(info.st_mode),
          static_cast<std::uint64_t>(info.st_size),
          std::int64_t{info.st_mtim.tv_sec} * 1'000'000'000 + info.st_mtim.tv_nsec,
          static_cast<std::uint64_t>(info.st_nlink),
          static_cast<std::uint64_t>(info.st_dev),
          static_cast<std::uint64_t>(info.st_ino),
          static_cast<std::uint64_t>(info.st_blocks) * 512,
          (info.st_mode & kAllWrite) != 0};
}

class PosixLock final : public FileLock {
 public:
  PosixLock(std::unique_ptr<PosixFile> file, int fd, std::string path, LockReach reach)
      : file_(std::move(file)), fd_(fd), path_(std::move(path)), reach_(reach) {}
  LockReach reach() const override { return reach_; }
  Status write(const std::string& text) override {
    // Truncated last, so that a concurrent reader sees the new text, possibly followed by the end of the old one.
    TITAN_RETURN_IF_ERROR(file_->pwrite(0, std::as_bytes(std::span(text))));
    TITAN_RETURN_IF_ERROR(file_->truncate(text.size()));
    return send_written(fd_, path_);
  }

 private:
  std::unique_ptr<PosixFile> file_;  // keeps the flock: it belongs to the open file description
  const int fd_;                     // of file_
  const std::string path_;
  const LockReach reach_;
};

/// Fs by system calls. It has many functions because it has one for each of Fs.
class PosixFs final : public Fs {
 public:
  explicit PosixFs(NoReplace no_replace) : no_replace_(no_replace) {}

  Result<std::unique_ptr<File>> create(const std::string& path) override {
    int fd = retry([&] { return ::open(path.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0666); });
    if (fd < 0) return from_errno(errno, path, "create");
    return std::unique_ptr<File>(std::make_unique<PosixFile>(fd, path));
  }

  Result<std::unique_ptr<File>> create_large(const std::string& path) override {
    TITAN_ASSIGN_OR_RETURN(std::unique_ptr<File> file, create(path));
    static_cast<PosixFile&>(*file).write_uncached(refused_);
    return file;
  }

  Result<std::unique_ptr<File>> open_large(const std::string& path) override {
    int fd = retry([&] { return ::open(path.c_str(), O_RDWR | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK); });
    if (fd < 0) return from_errno(errno, path, "open for writing", OnMissing::kNotFound);
    auto file = std::make_unique<PosixFile>(fd, path);
    struct stat info {};
    if (::fstat(fd, &info) < 0) return from_errno(errno, path, "fstat");
    if (!S_ISREG(info.st_mode)) return failed(path + ": open for writing: expected a regular file");
    file->write_uncached(refused_);
    return std::unique_ptr<File>(std::move(file));
  }

  bool refused_uncached() const override { return *refused_; }

  Result<std::unique_ptr<File>> open_read(const std::string& path) override {
    return open_by_path(path, Access::kCached);
  }

  Result<std::unique_ptr<File>> open_scan(const std::string& path) override {
    return open_by_path(path, Access::kScan);
  }

  Result<std::unique_ptr<File>> open_member(const std::string& folder, const std::string& member,
                                            Access access) override {
    TITAN_ASSIGN_OR_RETURN(const int fd, open_member_file(folder, member, O_RDONLY | O_NONBLOCK, walk()));
    return for_reading(fd, join_path(folder, member), access);
  }

  Result<FileInfo> stat_member(const std::string& folder, const std::string& member) override {
    TITAN_ASSIGN_OR_RETURN(const int fd, open_member_file(folder, member, O_PATH, walk()));
    const PosixFile file(fd, join_path(folder, member));
    struct stat info {};
    if (::fstat(fd, &info) < 0) return from_read_errno(errno, join_path(folder, member), "fstat");
    return info_of(info);
  }

  Result<std::unique_ptr<File>> open_update(const std::string& path) override {
    int fd = retry([&] { return ::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NONBLOCK, 0666); });
    if (fd < 0) return from_errno(errno, path, "open for writing");
    auto file = std::make_unique<PosixFile>(fd, path);
    struct stat info {};
    if (::fstat(fd, &info) < 0) return from_errno(errno, path, "fstat");
    if (!S_ISREG(info.st_mode)) return failed(path + ": open for writing: expected a regular file");
    return std::unique_ptr<File>(std::move(file));
  }

  Status make_dir(const std::string& path) override {
    if (::mkdir(path.c_str(), 0777) < 0) return from_errno(errno, path, "mkdir");
    return ok_status();
  }

  Status remove_file(const std::string& path) override {
    if (::unlink(path.c_str()) < 0) return from_errno(errno, path, "unlink", OnMissing::kNotFound);
    return ok_status();
  }

  Status remove_dir(const std::string& path) override {
    if (::rmdir(path.c_str()) < 0) return from_errno(errno, path, "rmdir", OnMissing::kNotFound);
    return ok_status();
  }

  Status rename(const std::string& from, const std::string& to) override {
    if (::rename(from.c_str(), to.c_str()) < 0) return from_errno(errno, from, "rename to " + to, OnMissing::kNotFound);
    return ok_status();
  }

  Status rename_noreplace(const std::string& from, const std::string& to) override {
    if (no_replace_ == NoReplace::kKernel) {
      if (::renameat2(AT_FDCWD, from.c_str(), AT_FDCWD, to.c_str(), RENAME_NOREPLACE) == 0) return ok_status();
      if (errno != EINVAL && errno != ENOSYS) return noreplace_error(errno, from, to);
    }
    struct stat info {};
    if (::lstat(from.c_str(), &info) < 0) return noreplace_error(errno, from, to);
    if (!S_ISDIR(info.st_mode)) {
      if (::link(from.c_str(), to.c_str()) < 0) return noreplace_error(errno, from, to);
      return remove_file(from);
    }
    // A plain rename replaces an empty directory (it refuses a full one), so look for one first.
    if (struct stat target{}; ::lstat(to.c_str(), &target) == 0) return noreplace_error(EEXIST, from, to);
    if (::rename(from.c_str(), to.c_str()) < 0) return noreplace_error(errno, from, to);
    return ok_status();
  }

  Status sync_dir(const std::string& path) override {
    int fd = retry([&] { return ::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC); });
    if (fd < 0) return from_errno(errno, path, "open for fsync");
    Status status;
    if (retry([&] { return ::fsync(fd); }) < 0) status = from_errno(errno, path, "fsync of the directory");
    if (::close(fd) < 0 && errno != EINTR && status.ok()) status = from_errno(errno, path, "close of the directory");
    return status;
  }

  Result<std::vector<DirEntry>> list(const std::string& path) override {
    std::unique_ptr<DIR, int (*)(DIR*)> dir(::opendir(path.c_str()), ::closedir);
    if (!dir)
      return from_read_errno(errno, path, "opendir", errno == ENOENT ? OnMissing::kNotFound : OnMissing::kFailed);
    std::vector<DirEntry> entries;
    for (;;) {
      errno = 0;
      const dirent* item = ::readdir(dir.get());
      if (!item) break;
      std::string name = item->d_name;
      if (name == "." || name == "..") continue;
      struct stat info {};
      if (item->d_type != DT_UNKNOWN) {
        info.st_mode = DTTOIF(item->d_type);
      } else if (::fstatat(::dirfd(dir.get()), item->d_name, &info, AT_SYMLINK_NOFOLLOW) < 0) {
        if (errno == ENOENT) continue;  // removed meanwhile
        return from_read_errno(errno, join_path(path, name), "fstatat", OnMissing::kFailed);
      }
      entries.push_back({std::move(name), type_of(info.st_mode)});
    }
    if (errno != 0) return from_read_errno(errno, path, "readdir", OnMissing::kFailed);
    std::sort(entries.begin(), entries.end(), [](const DirEntry& a, const DirEntry& b) { return a.name < b.name; });
    return entries;
  }

  Result<FileInfo> stat(const std::string& path) override {
    struct stat info {};
    if (::lstat(path.c_str(), &info) < 0) return from_read_errno(errno, path, "lstat");
    return info_of(info);
  }

  Result<std::uint64_t> free_bytes(const std::string& path) override {
    struct statvfs info {};
    if (retry([&] { return ::statvfs(path.c_str(), &info); }) < 0)
      return from_errno(errno, path, "statvfs", OnMissing::kNotFound);
    return std::uint64_t{info.f_bavail} * info.f_frsize;
  }

  Status may_write(const std::string& path) override {
    struct stat info {};
    if (::stat(path.c_str(), &info) < 0) return from_errno(errno, path, "stat", OnMissing::kNotFound);
    const int right = S_ISDIR(info.st_mode) ? W_OK | X_OK : W_OK;
    if (::faccessat(AT_FDCWD, path.c_str(), right, AT_EACCESS) == 0) return ok_status();
    const std::string shown = path.find('/') == std::string::npos ? "./" + path : path;  // looks like a path
    return from_errno(errno, shown, "access for writing", OnMissing::kNotFound);
  }

  Result<std::unique_ptr<FileLock>> lock(const std::string& path) override {
    int fd = retry([&] { return ::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0666); });
    if (fd < 0) return from_errno(errno, path, "open of the lock");
    auto file = std::make_unique<PosixFile>(fd, path);
    const Result<LockReach> reach = take_flock(fd, path);
    if (!reach.ok()) {
      Status status = reach.status();
      if (status.code == Code::kLocked) status.causes.push_back(present_text(*file));
      return status;
    }
    return std::unique_ptr<FileLock>(std::make_unique<PosixLock>(std::move(file), fd, path, *reach));
  }

  Status link(const std::string& from, const std::string& to) override {
    if (::link(from.c_str(), to.c_str()) == 0) return ok_status();
    return optional_error(errno, {EXDEV, EPERM, EMLINK, EOPNOTSUPP, ENOSYS}, from, "link to " + to);
  }

  Status reflink(const std::string& from, const std::string& to) override {
    int source = retry([&] { return ::open(from.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW); });
    if (source < 0) return from_read_errno(errno, from, "open");
    PosixFile source_file(source, from);
    int fd = retry([&] { return ::open(to.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0666); });
    if (fd < 0) return from_errno(errno, to, "create");
    PosixFile target(fd, to);
    Status status;
    // EINVAL, ENOTTY, EBADF: file systems without clones answer with different errors.
    if (retry([&] { return ::ioctl(fd, FICLONE, source); }) < 0)
      status =
          optional_error(errno, {EXDEV, EPERM, EOPNOTSUPP, ENOSYS, EINVAL, ENOTTY, EBADF}, from, "reflink to " + to);
    if (status.ok()) status = finish_member(target);
    if (!status.ok()) ::unlink(to.c_str());
    return status;
  }

  Status exchange(const std::string& a, const std::string& b) override {
    if (no_replace_ == NoReplace::kFallback) return Fs::exchange(a, b);
    if (::renameat2(AT_FDCWD, a.c_str(), AT_FDCWD, b.c_str(), RENAME_EXCHANGE) == 0) return ok_status();
    return optional_error(errno, {EINVAL, ENOSYS, EOPNOTSUPP}, a, "exchange with " + b);
  }

  Result<std::string> real_path(const std::string& path) override {
    std::unique_ptr<char, void (*)(void*)> text(::realpath(path.c_str(), nullptr), std::free);
    if (!text) return from_read_errno(errno, path, "realpath");
    return std::string(text.get());
  }

 private:
  Walk walk() const { return no_replace_ == NoReplace::kFallback ? Walk::kByName : Walk::kKernel; }

  static Result<std::unique_ptr<File>> open_by_path(const std::string& path, Access access) {
    // O_NONBLOCK: if this name is a FIFO, opening it must not block before we know what it is.
    return for_reading(retry([&] { return ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK); }),
                       path, access);
  }

  /// Takes `fd`, or -1 with the errno of the open that failed.
  static Result<std::unique_ptr<File>> for_reading(int fd, const std::string& path, Access access) {
    if (fd < 0) return from_read_errno(errno, path, "open");
    auto file = std::make_unique<PosixFile>(fd, path);
    struct stat info {};
    if (::fstat(fd, &info) < 0) return from_read_errno(errno, path, "fstat", OnMissing::kFailed);
    if (!S_ISREG(info.st_mode)) return failed(path + ": open: expected a regular file");
    if (access == Access::kCached) return std::unique_ptr<File>(std::move(file));
    return make_scan_file(file->release(), path, access);
  }

  /// kUnsupported if `error` is in `means_no`: the store lacks the call, and the caller may use another one.
  static Status optional_error(int error, std::initializer_list<int> means_no, const std::string& path,
                               const std::string& call) {
    Status status = from_errno(error, path, call, OnMissing::kNotFound);
    if (std::find(means_no.begin(), means_no.end(), error) != means_no.end()) status.code = Code::kUnsupported;
    return status;
  }

  static Status noreplace_error(int error, const std::string& from, const std::string& to) {
    if (error == ENOTEMPTY) error = EEXIST;
    if (error == EEXIST) return failed(from + ": rename to " + to + ": the target exists");
    return from_errno(error, from, "rename to " + to, OnMissing::kNotFound);
  }

  static std::string present_text(PosixFile& file) {
    Result<std::uint64_t> size = file.size();
    if (!size.ok() || *size > kLockTextLimit) return {};
    std::string text(*size, '\0');
    return file.pread(0, std::as_writable_bytes(std::span(text))).ok() ? text : std::string{};
  }

  NoReplace no_replace_;
  const std::shared_ptr<std::atomic<bool>> refused_ = std::make_shared<std::atomic<bool>>(false);
};

}  // namespace

std::unique_ptr<Fs> make_posix_fs(NoReplace no_replace) { return std::make_unique<PosixFs>(no_replace); }

Fs& posix_fs() {
  static Fs* fs = make_posix_fs(NoReplace::kKernel).release();  // outlives every other static
  return *fs;
}

}  // namespace titan::ckpt
