#pragma once
// Parts of PosixFs (fs_posix.h): open files, errors of system calls, members of folders, locks.
#include <sys/stat.h>

#include <atomic>
#include <cerrno>
#include <cstdint>
#include <memory>
#include <span>
#include <string>

#include "ckpt/base/fs.h"

namespace titan::ckpt {

inline constexpr mode_t kAllWrite = S_IWUSR | S_IWGRP | S_IWOTH;

/// Repeats `call` while a signal interrupts it.
template <typename Call>
auto retry(Call call) {
  auto result = call();
  while (result < 0 && errno == EINTR) result = call();
  return result;
}

enum class OnMissing { kNotFound, kFailed };

/// As errno_status; with OnMissing::kNotFound, a missing path is kNotFound instead of kFailed.
Status from_errno(int error, const std::string& path, const std::string& call, OnMissing missing = OnMissing::kFailed);
/// As from_errno, for calls that read: EIO and ENODATA are kMediaError (the store failed to return stored bytes).
Status from_read_errno(int error, const std::string& path, const std::string& call,
                       OnMissing missing = OnMissing::kNotFound);

/// Fills `out` from `offset` on by calls of read_some(offset, out), which returns what pread(2) returns.
/// \error kCorrupt (the file ends earlier), kMediaError, kFailed
template <typename ReadSome>
Status read_fully(const std::string& path, std::uint64_t offset, std::span<std::byte> out, ReadSome read_some) {
  const std::uint64_t end = offset + out.size();
  while (!out.empty()) {
    const ssize_t got = retry([&] { return read_some(offset, out); });
    if (got < 0) return from_read_errno(errno, path, "pread at " + std::to_string(offset), OnMissing::kFailed);
    if (got == 0)
      return corrupt(path + ": expected bytes up to " + std::to_string(end) + ", the file ends at " +
                     std::to_string(offset));
    offset += static_cast<std::uint64_t>(got);
    out = out.subspan(static_cast<std::size_t>(got));
  }
  return ok_status();
}

class PosixFile final : public File {
 public:
  PosixFile(int fd, std::string path) : fd_(fd), path_(std::move(path)) {}
  ~PosixFile() override;
  /// From now on, writes of whole blocks bypass the page cache; `*refused` becomes true if the store refuses that.
  /// Opens a second descriptor through the first one, not by path, so that both refer to the same file.
  void write_uncached(std::shared_ptr<std::atomic<bool>> refused);
  PosixFile(const PosixFile&) = delete;
  PosixFile& operator=(const PosixFile&) = delete;
  Status pread(std::uint64_t offset, std::span<std::byte> out) override;
  Status pwrite(std::uint64_t offset, std::span<const std::byte> data) override;
  Status truncate(std::uint64_t size) override;

  Result<std::uint64_t> size() override;
  Status datasync() override;
  Status set_read_only() override;
  int release() { return std::exchange(fd_, -1); }
  Status close() override;

 private:
  // How many bytes of `data` can bypass the cache: those of all whole blocks if offset and memory address are aligned,
  // else 0.
  std::size_t whole_blocks(std::uint64_t offset, std::span<const std::byte> data) const;

  // Starts writing a large file to the disk while it grows; `put` is the number of bytes just written. Otherwise the
  // kernel would keep the bytes in memory for seconds, and datasync() would wait for all of them. No error is lost:
  // datasync() reports it.
  void begin_write_back(std::uint64_t put);
  int fd_, direct_ = -1;
  bool large_ = false;
  std::atomic<bool> uncached_ = true;
  std::shared_ptr<std::atomic<bool>> refused_;  ///< of the whole Fs; true if the store refuses uncached writes
  std::string path_;
  Status lost_;
  std::atomic<std::uint64_t> written_ = 0;
};

/// How open_member_file() resolves the path below the folder. kKernel: with one openat2(2) if the kernel has and
/// permits it; kByName: always one name at a time.
enum class Walk { kKernel, kByName };

/// Returns a descriptor (close-on-exec) of `member` below `folder`. `flags` are flags of open(2) with O_PATH or
/// O_RDONLY. \error kNotFound, kCorrupt (a link, or a name that leads outside), kMediaError, kFailed
Result<int> open_member_file(const std::string& folder, const std::string& member, int flags, Walk walk);

/// Takes the exclusive lock of the open file `fd` without waiting; returns kNone if the store has no such locks.
/// \error kLocked (another holder), kFailed
Result<LockReach> take_flock(int fd, const std::string& path);

/// Makes the client of a network file system send what was written through `fd` to its server. Cheap on a local store.
Status send_written(int fd, const std::string& path);

}  // namespace titan::ckpt
