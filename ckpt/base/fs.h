#pragma once
// Fs: the file system interface, used for all I/O on checkpoints. Tests replace it with one in memory or one that
// fails. Comments call the file system and its server, if it has one, the store.
//
// Paths are plain strings with '/' separators. Errors name the path; those of system calls also name the call. Besides
// the errors that its comment lists, any call may return kFailed, and a reading call also kMediaError. Implementations
// are thread-safe; several threads may use one File through pread and pwrite.
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "ckpt/base/result.h"

namespace titan::ckpt {

/// An open file. The destructor closes it and drops errors; after writing call close(), which returns them.
class File {
 public:
  virtual ~File() = default;
  /// Reads exactly `out.size()` bytes at `offset`. \error kCorrupt (the file ends earlier), kMediaError, kFailed (other
  /// I/O errors)
  virtual Status pread(std::uint64_t offset, std::span<std::byte> out) = 0;
  /// Writes all of `data` at `offset`. \error kFailed (disk full, quota, I/O error).
  virtual Status pwrite(std::uint64_t offset, std::span<const std::byte> data) = 0;
  /// Sets the size; bytes beyond the old end read as zeros.
  virtual Status truncate(std::uint64_t size) = 0;
  virtual Result<std::uint64_t> size() = 0;
  /// Makes the file's data durable (fdatasync), including data written by other processes or descriptors. After an
  /// error never call it again on this file: the second call may succeed although data are lost.
  virtual Status datasync() = 0;
  /// Removes write permission from the file for all users; this open file can still be written. The change is not made
  /// durable. \error kUnsupported (the store has no permissions, or the file belongs to another user; nothing has
  /// changed), kFailed
  virtual Status set_read_only();
  virtual Status close() = 0;
};

enum class FileType { kFile, kDirectory, kLink, kOther };  // kLink: a symbolic link

struct FileInfo {
  FileType type = FileType::kOther;
  std::uint64_t size = 0;
  std::int64_t mtime_ns = 0;            ///< since the epoch, UTC
  std::uint64_t links = 1;              ///< number of hard links. The bytes are freed when the last one is removed
  std::uint64_t device = 0, inode = 0;  ///< equal for two names of one file
  std::uint64_t allocated = 0;          ///< bytes on disk; less than `size` for a file with holes
  bool writable = true;                 ///< the mode gives at least one user write permission
  bool operator==(const FileInfo&) const = default;
};

struct DirEntry {
  std::string name;  ///< never "." or ".."
  FileType type = FileType::kOther;
  bool operator==(const DirEntry&) const = default;
};

/// Which processes see an advisory lock that was granted.
enum class LockReach {
  kKernel,   ///< every process that can open the file, because only this host uses the store
  kUnknown,  ///< every process of this host; processes of other hosts only with certain mount options
  kNone,     ///< none: the store has no advisory locks, and Fs::lock grants every request
};

/// An exclusive advisory lock on a file, released by the destructor or by the end of the process.
class FileLock {
 public:
  virtual ~FileLock() = default;
  virtual LockReach reach() const { return LockReach::kKernel; }
  /// Replaces the content of the lock file, a note that names the holder. Does not make it durable.
  virtual Status write(const std::string& text) = 0;
};

/// How the bytes of an open file are read.
enum class Access {
  kCached,    ///< through the page cache, as usual
  kScan,      ///< see Fs::open_scan
  kUncached,  ///< from the store, not from the page cache, if the store supports that; for a second read after an error
};

/// The file system calls that other code may use, one function for each. An implementation that does not support a call
/// keeps the default of this class.
class Fs {
 public:
  virtual ~Fs() = default;
  /// Creates `path` for reading and writing (O_EXCL, O_NOFOLLOW). \error kFailed when it exists.
  virtual Result<std::unique_ptr<File>> create(const std::string& path) = 0;
  /// As create(), for a large file that is written once. If the store supports it, whole blocks of kScanAlignment bytes
  /// (aligned_buffer.h) bypass the page cache, where the file offset and the memory address of the write are multiples
  /// of kScanAlignment: this is faster, and other files stay cached. All other bytes go through the cache. truncate()
  /// reserves the space at once if the store can, so a lack of space is an error before the first write.
  virtual Result<std::unique_ptr<File>> create_large(const std::string& path) { return create(path); }
  /// Opens a file that another process of this host made with create_large() and truncate(), to write a part of it.
  /// Writes bypass the page cache under the conditions of create_large(). Only the process that created the file calls
  /// truncate(). \error kNotFound, kUnsupported (this file system does not offer the call)
  virtual Result<std::unique_ptr<File>> open_large(const std::string& path);
  /// True if the store has refused to bypass the page cache for a file of create_large() or open_large().
  virtual bool refused_uncached() const { return false; }
  /// Opens an existing regular file for reading (O_NOFOLLOW). \error kNotFound.
  virtual Result<std::unique_ptr<File>> open_read(const std::string& path) = 0;
  /// As open_read(), for a large file that is read once. If the store supports it, whole blocks of kScanAlignment bytes
  /// that are not in the page cache are read without it: this is faster, and other files stay cached.
  virtual Result<std::unique_ptr<File>> open_scan(const std::string& path) { return open_read(path); }
  /// Opens the regular file `member` ("model/x") below `folder` for reading. `folder` itself may be a symbolic link; no
  /// part of `member` may be one, so nothing outside `folder` can be reached. \error kNotFound, kCorrupt (a link in
  /// `member`)
  virtual Result<std::unique_ptr<File>> open_member(const std::string& folder, const std::string& member,
                                                    Access access = Access::kCached);
  /// stat() of `member` in `folder`. A symbolic link is kCorrupt as in open_member(), also if it is `member` itself.
  virtual Result<FileInfo> stat_member(const std::string& folder, const std::string& member);
  /// Opens a regular file for reading and writing, and creates it if it is missing. A symbolic link is followed: users
  /// may link such a file, for example a run's metrics, to another place. \error kUnsupported (this file system does
  /// not offer the call)
  virtual Result<std::unique_ptr<File>> open_update(const std::string& path);
  virtual Status make_dir(const std::string& path) = 0;  ///< the parent must exist; kFailed when `path` exists
  virtual Status remove_file(const std::string& path) = 0;
  virtual Status remove_dir(const std::string& path) = 0;  ///< the folder must be empty
  /// Renames a file over another (atomic replace).
  virtual Status rename(const std::string& from, const std::string& to) = 0;
  /// Renames without replacing `to`. \error kFailed with "exists" in the message when `to` exists.
  virtual Status rename_noreplace(const std::string& from, const std::string& to) = 0;
  /// Makes the names in `path` (creations, renames, removals) durable: fsync of the directory.
  virtual Status sync_dir(const std::string& path) = 0;
  virtual Result<std::vector<DirEntry>> list(const std::string& path) = 0;  ///< sorted by name; \error kNotFound
  /// stat() that does not follow symbolic links: their type is kLink. \error kNotFound
  virtual Result<FileInfo> stat(const std::string& path) = 0;
  /// Free bytes of the file system that holds `path`.
  virtual Result<std::uint64_t> free_bytes(const std::string& path) = 0;
  /// Whether this process may write the file `path`, or create names in the folder `path`, as far as the store can tell
  /// without a write. The default implementation returns ok. \error kNotFound, kFailed with the errno that a write
  /// would get
  virtual Status may_write(const std::string& path);
  /// Takes the lock on `path` (created when missing) without waiting.
  /// \error kLocked when the lock is held already, also by this process; Status::causes has the content of the file
  virtual Result<std::unique_ptr<FileLock>> lock(const std::string& path) = 0;

  // Some stores lack the calls below. kUnsupported (another device, not permitted, too many links, no such call) means
  // that nothing was changed, and that the caller must do without the call. By default all of these calls but real_path
  // return kUnsupported.

  /// Creates the hard link `to` to the file `from`. `to` must not exist. \error kUnsupported, kNotFound
  virtual Status link(const std::string& from, const std::string& to);
  /// Creates `to` as a read-only file that shares the blocks of `from` (copy-on-write). `to` must not exist; after an
  /// error the call leaves no new file. The data of `to` is durable on return; its folder is not synced.
  /// \error kUnsupported, kNotFound
  virtual Status reflink(const std::string& from, const std::string& to);
  /// Exchanges two existing names atomically. \error kUnsupported, kNotFound
  virtual Status exchange(const std::string& a, const std::string& b);
  /// The canonical absolute form of an existing path: symbolic links followed, no "." or "..". The default
  /// implementation only normalises the text of the path. \error kNotFound
  virtual Result<std::string> real_path(const std::string& path);
};

}  // namespace titan::ckpt
