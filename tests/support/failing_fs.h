#pragma once
// FailingFs: passes calls on to another Fs, counts them, and fails the one it was told to.
#include <cerrno>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "ckpt/base/fs.h"

namespace titan::ckpt::testing {

enum class Op {
  kCreate,
  kOpenRead,
  kPread,
  kPwrite,
  kTruncate,
  kSize,
  kDatasync,
  kClose,
  kMakeDir,
  kRemoveFile,
  kRemoveDir,
  kRename,
  kRenameNoReplace,
  kSyncDir,
  kList,
  kStat,
  kFreeBytes,
  kLock,
  kLockWrite,
  kLink,
  kReflink,
  kExchange,
  kRealPath,
  kSetReadOnly,
};
const char* op_name(Op op);

enum class Repeat { kOnce, kSticky };

/// Fails the k-th call (1-based, counted from arm()) among those that match; kSticky: every later one as well.
struct Fault {
  std::optional<Op> op;   ///< empty: any call
  std::string path_part;  ///< only paths that contain this
  std::uint64_t k = 1;
  Repeat repeat = Repeat::kOnce;
  int error = EIO;                   ///< gives the Status that PosixFs would give
  std::optional<Status> status;      ///< instead of `error`
  std::uint64_t written_before = 0;  ///< bytes that a failing pwrite still writes
  bool done = false;                 ///< a failing make_dir or rename is executed nevertheless: a lost reply
  std::optional<std::uint64_t> touching = std::nullopt;  ///< of pread: only calls that read this byte
};

struct Call {
  Op op;
  std::string path;
  bool operator==(const Call&) const = default;
};

/// Thread-safe. A failed close() still closes; every other failed call does nothing (but see written_before).
class FailingFs final : public Fs {
 public:
  explicit FailingFs(Fs& inner);
  ~FailingFs() override;

  void arm(Fault fault);
  void disarm();
  bool fired() const;
  /// All calls so far, in order; destructors make none.
  std::vector<Call> calls() const;
  std::uint64_t count(Op op) const;
  std::uint64_t bytes_read() const;  ///< of all calls so far
  void clear_calls();
  /// A file whose datasync failed was synced again: it would report ok with data missing.
  bool synced_after_failure() const;

  Result<std::unique_ptr<File>> create(const std::string& path) override;
  Result<std::unique_ptr<File>> open_read(const std::string& path) override;
  /// A kOpenRead and a kStat of the joined path.
  Result<std::unique_ptr<File>> open_member(const std::string& folder, const std::string& member,
                                            Access access) override;
  Result<FileInfo> stat_member(const std::string& folder, const std::string& member) override;
  Result<std::unique_ptr<File>> open_update(const std::string& path) override;
  /// A kOpenRead.
  Result<std::unique_ptr<File>> open_large(const std::string& path) override;
  Status make_dir(const std::string& path) override;
  Status remove_file(const std::string& path) override;
  Status remove_dir(const std::string& path) override;
  Status rename(const std::string& from, const std::string& to) override;
  Status rename_noreplace(const std::string& from, const std::string& to) override;
  Status sync_dir(const std::string& path) override;
  Result<std::vector<DirEntry>> list(const std::string& path) override;
  Result<FileInfo> stat(const std::string& path) override;
  Result<std::uint64_t> free_bytes(const std::string& path) override;
  Result<std::unique_ptr<FileLock>> lock(const std::string& path) override;
  Status link(const std::string& from, const std::string& to) override;
  Status reflink(const std::string& from, const std::string& to) override;
  Status exchange(const std::string& a, const std::string& b) override;
  Result<std::string> real_path(const std::string& path) override;

  struct State;  ///< shared with open files

 private:
  Fs& inner_;
  std::shared_ptr<State> state_;
};

}  // namespace titan::ckpt::testing
