#include "ckpt/base/posix_file.h"

#include <fcntl.h>
#include <unistd.h>

#include <utility>

#include "ckpt/base/aligned_buffer.h"
#include "ckpt/base/denied.h"
#include "ckpt/base/errno_status.h"

namespace titan::ckpt {
namespace {

constexpr std::uint64_t kWriteBack = std::uint64_t{16} << 20;

}  // namespace

Status from_errno(int error, const std::string& path, const std::string& call, OnMissing missing) {
  Status status = errno_status(error, path, call);
  if (missing == OnMissing::kNotFound && (error == ENOENT || error == ENOTDIR)) status.code = Code::kNotFound;
  if (status.code == Code::kFailed && status.hint.empty()) status.hint = denied_hint(error, path, call);
  return status;
}

Status from_read_errno(int error, const std::string& path, const std::string& call, OnMissing missing) {
  Status status = from_errno(error, path, call, missing);
  if (status.code == Code::kFailed) status.code = read_errno_status(error, path, call).code;
  return status;
}

PosixFile::~PosixFile() {
  if (direct_ >= 0) ::close(direct_);
  if (fd_ >= 0) ::close(fd_);
}

void PosixFile::write_uncached(std::shared_ptr<std::atomic<bool>> refused) {
  large_ = true;
  refused_ = std::move(refused);
  direct_ =
      retry([&] { return ::open(("/proc/self/fd/" + std::to_string(fd_)).c_str(), O_WRONLY | O_CLOEXEC | O_DIRECT); });
  if (direct_ < 0 && errno == EINVAL) *refused_ = true;
}

Status PosixFile::pread(std::uint64_t offset, std::span<std::byte> out) {
  return read_fully(path_, offset, out, [&](std::uint64_t at, std::span<std::byte> rest) {
    return ::pread(fd_, rest.data(), rest.size(), static_cast<off_t>(at));
  });
}

Status PosixFile::pwrite(std::uint64_t offset, std::span<const std::byte> data) {
  while (!data.empty()) {
    const std::size_t blocks = whole_blocks(offset, data);
    ssize_t put = retry([&] {
      return ::pwrite(blocks > 0 ? direct_ : fd_, data.data(), blocks > 0 ? blocks : data.size(),
                      static_cast<off_t>(offset));
    });
    const int error = errno;
    if (put < 0 && blocks > 0 && error == EINVAL) {  // the store accepts O_DIRECT but not our alignment
      uncached_ = false;
      *refused_ = true;
      continue;
    }
    const auto call = [&] {
      return "pwrite of " + std::to_string(data.size()) + " bytes at " + std::to_string(offset);
    };
    if (put < 0) return from_errno(error, path_, call());
    if (put == 0) return failed(path_ + ": " + call() + ": nothing was written");
    offset += static_cast<std::uint64_t>(put);
    data = data.subspan(static_cast<std::size_t>(put));
    if (blocks == 0) begin_write_back(static_cast<std::uint64_t>(put));
  }
  return ok_status();
}

Status PosixFile::truncate(std::uint64_t size) {
  if (large_ && size > 0) {
    if (retry([&] { return ::fallocate(fd_, 0, 0, static_cast<off_t>(size)); }) < 0 && errno != EOPNOTSUPP &&
        errno != ENOSYS)
      return from_errno(errno, path_, "fallocate of " + std::to_string(size) + " bytes");
  }
  if (retry([&] { return ::ftruncate(fd_, static_cast<off_t>(size)); }) < 0)
    return from_errno(errno, path_, "ftruncate to " + std::to_string(size));
  return ok_status();
}

Result<std::uint64_t> PosixFile::size() {
  struct stat info {};
  if (::fstat(fd_, &info) < 0) return from_read_errno(errno, path_, "fstat", OnMissing::kFailed);
  return static_cast<std::uint64_t>(info.st_size);
}

Status PosixFile::datasync() {
  // Linux marks pages clean after it has reported a failure: a second call would succeed although data is missing.
  if (!lost_.ok()) return lost_;
  if (retry([&] { return ::fdatasync(fd_); }) < 0) lost_ = from_errno(errno, path_, "fdatasync");
  return lost_;
}

Status PosixFile::set_read_only() {
  struct stat info {};
  if (::fstat(fd_, &info) < 0) return from_errno(errno, path_, "fstat");
  if ((info.st_mode & kAllWrite) == 0 || ::fchmod(fd_, info.st_mode & 07777 & ~kAllWrite) == 0) return ok_status();
  Status status = from_errno(errno, path_, "fchmod");
  // Errors of stores without permissions, and of servers on which only the owner of the share may change them.
  for (const int means_no : {EPERM, EACCES, EOPNOTSUPP, ENOSYS, EINVAL})
    if (errno == means_no) status.code = Code::kUnsupported;
  return status;
}

Status PosixFile::close() {
  if (fd_ < 0) return failed(path_ + ": close: already closed");
  if (direct_ >= 0) (void)::close(std::exchange(direct_, -1));  // all its writes have returned, so no error is pending
  int fd = std::exchange(fd_, -1);
  // Never repeated: on Linux the descriptor is closed even after EINTR, and may already belong to another thread.
  if (::close(fd) < 0 && errno != EINTR) return from_errno(errno, path_, "close");
  return ok_status();
}

std::size_t PosixFile::whole_blocks(std::uint64_t offset, std::span<const std::byte> data) const {
  if (direct_ < 0 || !uncached_.load(std::memory_order_relaxed) || offset % kScanAlignment != 0 ||
      reinterpret_cast<std::uintptr_t>(data.data()) % kScanAlignment != 0)
    return 0;
  return data.size() / kScanAlignment * kScanAlignment;
}

void PosixFile::begin_write_back(std::uint64_t put) {
  const std::uint64_t before = written_.fetch_add(put, std::memory_order_relaxed);
  if (before / kWriteBack != (before + put) / kWriteBack) (void)::sync_file_range(fd_, 0, 0, SYNC_FILE_RANGE_WRITE);
}

}  // namespace titan::ckpt
