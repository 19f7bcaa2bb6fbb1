#pragma once
// Fs: the only door to the file system. Tests put a memory or a failing implementation behind it.
//
// Paths are plain strings, '/' separated. Every error names the path and the call. Implementations are thread-safe;
// a File may be used from several threads through pread and pwrite.
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "ckpt/base/cancel.h"
#include "ckpt/base/result.h"

namespace titan::ckpt {

/// An open file. The destructor closes without reporting: call close() where a late error matters (writers do).
class File {
 public:
  virtual ~File() = default;
  /// Reads exactly `out.size()` bytes at `offset`. \error kCorrupt when the file ends before, kMediaError, kFailed on
  /// other I/O errors.
  virtual Status pread(std::uint64_t offset, std::span<std::byte> out) = 0;
  /// Writes all of `data` at `offset`. \error kFailed (disk full, quota, I/O error).
  virtual Status pwrite(std::uint64_t offset, std::span<const std::byte> data) = 0;
  /// Sets the size; bytes beyond the old end read as zeros.
  virtual Status truncate(std::uint64_t size) = 0;
  virtual Result<std::uint64_t> size() = 0;
  /// Makes the data durable (fdatasync), whoever wrote it and however it was opened. After an error the inode is lost:
  /// never call it again on this file.
  virtual Status datasync() = 0;
  /// Takes write permission from everybody, this open file apart; not made durable.
  /// \error kUnsupported (this store keeps no permissions, or the file is another user's: nothing has happened),
  /// kFailed
  virtual Status set_read_only();
  virtual Status close() = 0;
};

enum class FileType { kFile, kDirectory, kLink, kOther };  // kLink: a symbolic link

struct FileInfo {
  FileType type = FileType::kOther;
  std::uint64_t size = 0;
  std::int64_t mtime_ns = 0;            ///< since the epoch, UTC
  std::uint64_t links = 1;              ///< names of the file; its bytes are freed with the last
  std::uint64_t device = 0, inode = 0;  ///< equal for two names of one file
  std::uint64_t allocated = 0;          ///< bytes on disk; less than `size` for a file with holes
  bool writable = true;                 ///< by its mode, for anybody at all
  bool operator==(const FileInfo&) const = default;
};

struct DirEntry {
  std::string name;  ///< never "." or ".."
  FileType type = FileType::kOther;
  bool operator==(const DirEntry&) const = default;
};

/// Who sees an advisory lock that was granted.
enum class LockReach {
  kKernel,   ///< everybody who can reach the file: the store belongs to this host
  kUnknown,  ///< this host; others perhaps, as their mount options say
  kNone,     ///< nobody: the store has no such locks, and Fs::lock grants every one
};

/// An exclusive advisory lock on a file; released by the destructor or by the death of the process.
class FileLock {
 public:
  virtual ~FileLock() = default;
  virtual LockReach reach() const { return LockReach::kKernel; }
  /// Replaces the content of the lock file (who holds it); not made durable.
  virtual Status write(const std::string& text) = 0;
};

/// Offsets and buffers are multiples of it, for files from Fs::open_scan and Fs::create_large.
inline constexpr std::uint64_t kScanAlignment = 4096;

/// How the bytes of an open file are read.
enum class Access {
  kCached,     ///< as usual
  kScan,       ///< see Fs::open_scan
  kPastCache,  ///< from the store itself where it can do that, never from memory: to ask a second time after an error
};

/// One function for each thing that other code may ask of a file system; a store that lacks one keeps the default.
class Fs {
 public:
  virtual ~Fs() = default;
  /// Creates `path` for reading and writing (O_EXCL, O_NOFOLLOW). \error kFailed when it exists.
  virtual Result<std::unique_ptr<File>> create(const std::string& path) = 0;
  /// As create, for a large file that is written once: whole blocks go past the page cache where the store can do that,
  /// which is faster, and leaves the cache to others. Where offset and memory of a write are multiples of
  /// kScanAlignment, its whole blocks gain; the rest goes the usual way. truncate() takes the space from the store at
  /// once, so that a disk that is too full is known before the first byte.
  virtual Result<std::unique_ptr<File>> create_large(const std::string& path) { return create(path); }
  /// Opens a file that create_large() of another process of this host has made and sized, to write into as well, in the
  /// same way. It has no bytes of its own: truncate() is the maker's. \error kNotFound, kUnsupported
  virtual Result<std::unique_ptr<File>> open_large(const std::string& path);
  /// Some file of create_large() went through the page cache, since its store refuses another way.
  virtual bool refused_past_cache() const { return false; }
  /// Opens an existing regular file for reading (O_NOFOLLOW). \error kNotFound.
  virtual Result<std::unique_ptr<File>> open_read(const std::string& path) = 0;
  /// As open_read, for a large file that is read once: what is not in memory already is read past the page cache where
  /// the store can do that, which is faster and leaves the cache to others. Only whole multiples of kScanAlignment
  /// gain.
  virtual Result<std::unique_ptr<File>> open_scan(const std::string& path) { return open_read(path); }
  /// Opens the regular file `member` ("model/x") of the folder `folder` for reading. No name below `folder` may be a
  /// symbolic link, and nothing outside of it is reached; `folder` itself is followed. \error kNotFound, kCorrupt (a
  /// link is in the way), kMediaError, kFailed
  virtual Result<std::unique_ptr<File>> open_member(const std::string& folder, const std::string& member,
                                                    Access access = Access::kCached);
  /// What stat() says of `member` of `folder`, under the same rule; kCorrupt also where `member` itself is a link.
  virtual Result<FileInfo> stat_member(const std::string& folder, const std::string& member);
  /// Opens a regular file, made when missing, for reading and writing. A symbolic link is followed: for files that
  /// people place, like a run's metrics. \error kFailed, kUnsupported (this file system does not offer it)
  virtual Result<std::unique_ptr<File>> open_update(const std::string& path);
  virtual Status make_dir(const std::string& path) = 0;  ///< parent must exist; kFailed when `path` exists
  virtual Status remove_file(const std::string& path) = 0;
  virtual Status remove_dir(const std::string& path) = 0;  ///< must be empty
  /// Renames a file over another (atomic replace).
  virtual Status rename(const std::string& from, const std::string& to) = 0;
  /// Renames without ever replacing `to`. \error kFailed with "exists" in the message when `to` exists.
  virtual Status rename_noreplace(const std::string& from, const std::string& to) = 0;
  /// Makes the names in `path` (creations, renames, removals) durable: fsync of the directory.
  virtual Status sync_dir(const std::string& path) = 0;
  virtual Result<std::vector<DirEntry>> list(const std::string& path) = 0;  ///< sorted by name; \error kNotFound
  /// \error kNotFound when nothing is there; symbolic links are not followed (type kLink).
  virtual Result<FileInfo> stat(const std::string& path) = 0;
  virtual Result<std::uint64_t> free_bytes(const std::string& path) = 0;
  /// Whether this process may write the file `path`, or make names in the folder `path`, as far as the store tells
  /// without a try. The default says ok. \error kFailed with the errno that a try would meet
  virtual Status may_write(const std::string& path);
  /// Takes the lock on `path` (created when missing) without waiting.
  /// \error kLocked with the present content of the file in `causes` when another holder lives.
  virtual Result<std::unique_ptr<FileLock>> lock(const std::string& path) = 0;

  // Not every store can do what follows. kUnsupported, and only that, means: nothing has happened, do it another way
  // (other device, not permitted, too many links, no such call here). A file system that has none of these calls
  // inherits that answer.

  /// Gives the file `from` the second name `to`, which must not exist. \error kUnsupported, kNotFound, kFailed
  virtual Status link(const std::string& from, const std::string& to);
  /// Creates `to` as a read-only file that shares the blocks of `from`, durable on return (its folder is not synced).
  /// \error kUnsupported, kNotFound, kFailed; after an error `to` is not there
  virtual Status reflink(const std::string& from, const std::string& to);
  /// Exchanges two existing names in one step. \error kUnsupported, kNotFound, kFailed
  virtual Status exchange(const std::string& a, const std::string& b);
  /// The one absolute spelling of an existing path: symbolic links followed, no "." or "..". Here: by the text alone.
  /// \error kNotFound
  virtual Result<std::string> real_path(const std::string& path);
};

/// The real file system of this process; never destroyed.
Fs& posix_fs();

/// Reads a whole file. \error kCorrupt when it is larger than `limit` bytes.
Result<std::vector<std::byte>> read_file(Fs& fs, const std::string& path, std::uint64_t limit);
/// Reads the whole of `member` of `folder` (Fs::open_member). \error kCorrupt when it is larger than `limit` bytes,
/// those of open_member.
Result<std::vector<std::byte>> read_member(Fs& fs, const std::string& folder, const std::string& member,
                                           std::uint64_t limit);
/// Creates `path` with `data`, datasync, close. The directory is not synced.
Status write_new_file(Fs& fs, const std::string& path, std::span<const std::byte> data);
/// Ends the writing of a checkpoint's member: takes write permission from it where the store can, makes it durable,
/// closes it.
Status finish_member(File& file);
/// write_new_file of a checkpoint's member: read-only.
Status write_member(Fs& fs, const std::string& path, std::span<const std::byte> data);
/// Creates `path` and every missing parent, syncing each parent that got a new name.
Status make_dirs(Fs& fs, const std::string& path);
/// Removes `path` with everything below it; missing is fine. `cancel` is asked before each removal: nothing more goes
/// then. \error kFailed, kInterrupted, kTerminated
Status remove_tree(Fs& fs, const std::string& path, const CancelToken& cancel = {});
/// Makes a folder that nobody else makes, or takes the empty one that is there. \error as Fs::make_dir
Status make_own_dir(Fs& fs, const std::string& path);
/// What stands in an error about the link `path` inside a checkpoint.
Status link_refused(const std::string& path);
/// The folder part of `path`: "." when there is none, "/" for a name in the root.
std::string parent_path(const std::string& path);
/// The part of `path` behind its last '/'.
std::string base_name(const std::string& path);
/// `path` without slashes at its end; "/" stays.
std::string without_slashes(std::string path);
/// Joins two parts with one '/'.
std::string join_path(const std::string& a, const std::string& b);

}  // namespace titan::ckpt
