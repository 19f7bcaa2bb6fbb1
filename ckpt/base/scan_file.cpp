#include "ckpt/base/scan_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <new>
#include <utility>

#include "ckpt/base/aligned_buffer.h"
#include "ckpt/base/errno_status.h"
#include "ckpt/base/fs.h"
#include "ckpt/base/integers.h"
#include "ckpt/base/posix_file.h"

namespace titan::ckpt {
namespace {

constexpr std::size_t kBounce = std::size_t{1} << 20;

// cachestat(2), for which glibc has no wrapper. \source include/uapi/linux/mman.h
constexpr long kCachestat = 451;
struct CacheRange {
  std::uint64_t offset, length;
};
struct CacheState {
  std::uint64_t cached, dirty, writeback, evicted, recently_evicted;  // pages
};

bool aligned(std::uint64_t value) { return value % kScanAlignment == 0; }

class ScanFile final : public File {
 public:
  ScanFile(int fd, std::string path, Access access) : fd_(fd), path_(std::move(path)), access_(access) {}
  ~ScanFile() override {
    ::close(fd_);
    if (direct_ >= 0) ::close(direct_);
  }
  ScanFile(const ScanFile&) = delete;
  ScanFile& operator=(const ScanFile&) = delete;
  /// Takes a second descriptor of the same file, opened with O_DIRECT.
  void use_direct(int fd) { direct_ = fd; }

  Status pread(std::uint64_t offset, std::span<std::byte> out) override {
    return read_fully(path_, offset, out, [&](std::uint64_t at, std::span<std::byte> rest) {
      return access_ == Access::kUncached ? read_from_store(at, rest) : read_some(at, rest);
    });
  }

  Status pwrite(std::uint64_t, std::span<const std::byte>) override { return read_only(); }
  Status truncate(std::uint64_t) override { return read_only(); }
  Status datasync() override { return read_only(); }
  Status close() override { return ok_status(); }
  Result<std::uint64_t> size() override {
    struct stat info {};
    if (::fstat(fd_, &info) < 0) return read_errno_status(errno, path_, "fstat");
    return static_cast<std::uint64_t>(info.st_size);
  }

 private:
  Status read_only() const { return failed(path_ + ": opened for reading only"); }

  // Reads bytes from the store only if they are not in the page cache; bytes that were just written come from the
  // cache.
  ssize_t read_some(std::uint64_t offset, std::span<std::byte> out) const {
    const auto place = static_cast<off_t>(offset);
    if (const std::size_t whole = whole_blocks(offset, out); whole > 0 && !cached(place, out.first(whole))) {
      const ssize_t got = ::pread(direct_, out.data(), whole, place);
      // EINVAL: the store accepts O_DIRECT but not our alignment. After a short read the rest is unaligned, or the file
      // ends.
      if (got > 0 || (got < 0 && errno != EINVAL)) return got;
    }
    return ::pread(fd_, out.data(), out.size(), place);
  }

  // How many bytes of `out` can be read with O_DIRECT directly into `out`.
  std::size_t whole_blocks(std::uint64_t offset, std::span<std::byte> out) const {
    if (direct_ < 0 || !aligned(offset) || !aligned(reinterpret_cast<std::uintptr_t>(out.data()))) return 0;
    return out.size() / kScanAlignment * kScanAlignment;
  }

  // Whether all of `out` is in the page cache. cachestat(2) answers this without a read, which would start read-ahead
  // of up to megabytes into the cache even if it fails. Kernels before 6.5 lack the call, so a page is read there.
  bool cached(off_t place, std::span<std::byte> out) const {
    const CacheRange range{static_cast<std::uint64_t>(place), out.size()};
    CacheState state{};
    if (::syscall(kCachestat, fd_, &range, &state, 0) == 0) {
      const auto page = static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE));
      return state.cached >= (range.offset + range.length - 1) / page - range.offset / page + 1;
    }
    const iovec first{out.data(), kScanAlignment};
    return ::preadv2(fd_, &first, 1, place, RWF_NOWAIT) == static_cast<ssize_t>(kScanAlignment);
  }

  // Every byte comes from the store: directly into `out` if possible, else through our own buffer of whole blocks, from
  // which the requested part is copied.
  ssize_t read_from_store(std::uint64_t offset, std::span<std::byte> out) const {
    if (const std::size_t whole = whole_blocks(offset, out); whole > 0) {
      const ssize_t got = ::pread(direct_, out.data(), whole, static_cast<off_t>(offset));
      if (got > 0 || (got < 0 && errno != EINVAL)) return got;
    }
    const std::uint64_t begin = offset / kScanAlignment * kScanAlignment, skip = offset - begin;
    const std::size_t wanted = std::min<std::size_t>(out.size(), kBounce - kScanAlignment);
    const std::size_t blocks = round_up(skip + wanted, kScanAlignment);
    if (direct_ >= 0) {
      const std::unique_ptr<void, void (*)(void*)> memory(std::aligned_alloc(kScanAlignment, blocks), std::free);
      if (!memory) throw std::bad_alloc();
      const ssize_t got = ::pread(direct_, memory.get(), blocks, static_cast<off_t>(begin));
      if (got < 0 && errno != EINVAL) return got;
      if (got >= 0) {
        const std::uint64_t there = static_cast<std::uint64_t>(got);
        const std::size_t count = there > skip ? std::min<std::size_t>(wanted, there - skip) : 0;
        std::memcpy(out.data(), static_cast<const std::byte*>(memory.get()) + skip, count);
        return static_cast<ssize_t>(count);
      }
    }
    (void)::posix_fadvise(fd_, static_cast<off_t>(begin), static_cast<off_t>(blocks),
                          POSIX_FADV_DONTNEED);  // no O_DIRECT: drop the pages first
    return ::pread(fd_, out.data(), wanted, static_cast<off_t>(offset));
  }

  int fd_, direct_ = -1;
  std::string path_;
  Access access_;
};

}  // namespace

std::unique_ptr<File> make_scan_file(int fd, std::string path, Access access) {
  auto file = std::make_unique<ScanFile>(fd, std::move(path), access);
  // Opened through the first descriptor and not by the path, so that both are the same file.
  const int direct = ::open(("/proc/self/fd/" + std::to_string(fd)).c_str(), O_RDONLY | O_CLOEXEC | O_DIRECT);
  if (direct >= 0) file->use_direct(direct);  // not every store supports it
  return file;
}

}  // namespace titan::ckpt
