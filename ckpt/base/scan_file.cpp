#include "ckpt/base/scan_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

#include <cerrno>
#include <utility>

#include "ckpt/base/fs_posix.h"

namespace titan::ckpt {
namespace {

bool aligned(std::uint64_t value) { return value % kScanAlignment == 0; }

class ScanFile final : public File {
 public:
  ScanFile(int fd, std::string path) : fd_(fd), path_(std::move(path)) {}
  ~ScanFile() override {
    ::close(fd_);
    if (direct_ >= 0) ::close(direct_);
  }
  ScanFile(const ScanFile&) = delete;
  ScanFile& operator=(const ScanFile&) = delete;
  /// Takes a second descriptor of the same file, opened with O_DIRECT.
  void use_direct(int fd) { direct_ = fd; }

  Status pread(std::uint64_t offset, std::span<std::byte> out) override {
    const std::uint64_t end = offset + out.size();
    while (!out.empty()) {
      const ssize_t got = read_some(offset, out);
      if (got < 0 && errno == EINTR) continue;
      if (got < 0) return errno_status(errno, path_, "pread at " + std::to_string(offset));
      if (got == 0)
        return corrupt(path_ + ": expected bytes up to " + std::to_string(end) + ", the file ends at " + std::to_string(offset));
      offset += static_cast<std::uint64_t>(got);
      out = out.subspan(static_cast<std::size_t>(got));
    }
    return ok_status();
  }

  Status pwrite(std::uint64_t, std::span<const std::byte>) override { return read_only(); }
  Status truncate(std::uint64_t) override { return read_only(); }
  Status datasync() override { return read_only(); }
  Status close() override { return ok_status(); }
  Result<std::uint64_t> size() override {
    struct stat info {};
    if (::fstat(fd_, &info) < 0) return errno_status(errno, path_, "fstat");
    return static_cast<std::uint64_t>(info.st_size);
  }

 private:
  Status read_only() const { return failed(path_ + ": opened for reading only"); }

  // Past the cache only what is not in it: bytes that were just written come from memory.
  ssize_t read_some(std::uint64_t offset, std::span<std::byte> out) const {
    const auto place = static_cast<off_t>(offset);
    const std::size_t whole = out.size() / kScanAlignment * kScanAlignment;
    if (direct_ >= 0 && whole > 0 && aligned(offset) && aligned(reinterpret_cast<std::uintptr_t>(out.data())) && !cached(place, out)) {
      const ssize_t got = ::pread(direct_, out.data(), whole, place);
      // EINVAL: a store that takes the flag but not our alignment. A short read leaves the rest unaligned, or at the end.
      if (got > 0 || (got < 0 && errno != EINVAL)) return got;
    }
    return ::pread(fd_, out.data(), out.size(), place);
  }

  // Looks at the first page only: files come into the cache in long runs.
  bool cached(off_t place, std::span<std::byte> out) const {
    const iovec first{out.data(), kScanAlignment};
    return ::preadv2(fd_, &first, 1, place, RWF_NOWAIT) == static_cast<ssize_t>(kScanAlignment);
  }

  int fd_, direct_ = -1;
  std::string path_;
};

}  // namespace

Result<std::unique_ptr<File>> open_scan_file(const std::string& path) {
  constexpr int kFlags = O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK;
  const int fd = ::open(path.c_str(), kFlags);
  if (fd < 0) {
    const int error = errno;
    Status status = errno_status(error, path, "open");
    if (error == ENOENT || error == ENOTDIR) status.code = Code::kNotFound;
    return status;
  }
  auto file = std::make_unique<ScanFile>(fd, path);
  struct stat info {};
  if (::fstat(fd, &info) < 0) return errno_status(errno, path, "fstat");
  if (!S_ISREG(info.st_mode)) return failed(path + ": open: expected a regular file");
  // By the open file and not by its path, so that both are the same file.
  const int direct = ::open(("/proc/self/fd/" + std::to_string(fd)).c_str(), O_RDONLY | O_CLOEXEC | O_DIRECT);
  if (direct >= 0) file->use_direct(direct);  // not every store has it
  return std::unique_ptr<File>(std::move(file));
}

}  // namespace titan::ckpt
