#pragma once
// CrashFs: an Fs over a Disk with a log of everything that a crash may undo.
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "ckpt/base/fs.h"
#include "tests/crash/disk.h"

namespace titan::crash {

/// From now on `name` in folder `dir` refers to `target`; kNoInode: the name is removed.
struct NameEffect {
  Inode dir = kNoInode;
  std::string name;
  Inode target = kNoInode;
};

/// One call that changed something or made something durable.
struct LoggedCall {
  enum class Kind {
    kWrite,     ///< `data` at `offset` of file `inode`
    kTruncate,  ///< file `inode` has `offset` bytes now
    kSyncFile,  ///< `synced` is durable
    kName,      ///< `effects`, all or none
    kSyncDir,   ///< the names in folder `inode` are durable
    kMark,      ///< `text` was announced to users; its promises begin here
  };
  Kind kind = Kind::kMark;
  Inode inode = kNoInode;
  std::uint64_t offset = 0;
  std::uint32_t host = 0;  ///< host in whose memory the change is until that host syncs
  std::shared_ptr<const std::string> data;
  std::shared_ptr<Blob> synced;
  std::vector<NameEffect> effects;
  bool rename = false;  ///< of kName: a rename or an exchange
  std::string text;     ///< for people
};

/// What the file system under test does not support.
struct FsLimits {
  bool exchange = true;
  bool link = true;
};

/// Not thread-safe, but threads may use it one after the other. Locks end with the CrashFs.
class CrashFs final : public ckpt::Fs {
 public:
  explicit CrashFs(Disk disk, FsLimits limits = {});
  ~CrashFs() override;

  /// Starts the log.
  void record();
  /// Notes that `text` was announced to a user.
  void mark(const std::string& text);
  const std::vector<LoggedCall>& log() const;
  /// The present visible state.
  const Disk& disk() const;
  /// Later calls are those of another host: a sync on one host does not cover writes of another (NFS, Lustre).
  void act_as(std::uint32_t host);
  /// Creations of files whose path ends in `suffix` fail from now on; empty: none.
  void refuse_creation(std::string suffix);
  bool refuses() const;
  /// Kills the process right after the first call whose text begins with `call`: its later calls have no effect. Others
  /// continue after revive() with the state in memory, which a crash of the machine may still lose.
  void kill_after(std::string call);
  void revive();
  bool killed() const;
  /// Damages a file without a logged call: one additional byte, or one changed byte.
  void damage(const std::string& path, bool size);
  /// `hook` is called before each call that would be logged, with its number since record(). Calls within it are not
  /// reported to it.
  void before_call(std::function<void(std::size_t number)> hook);
  /// Grants locks on paths that end in `suffix` to everybody, to simulate a forgotten lock.
  void grant_locks(std::string suffix);

  ckpt::Result<std::unique_ptr<ckpt::File>> create(const std::string& path) override;
  ckpt::Result<std::unique_ptr<ckpt::File>> open_large(const std::string& path) override;
  ckpt::Result<std::unique_ptr<ckpt::File>> open_read(const std::string& path) override;
  ckpt::Status make_dir(const std::string& path) override;
  ckpt::Status remove_file(const std::string& path) override;
  ckpt::Status remove_dir(const std::string& path) override;
  ckpt::Status rename(const std::string& from, const std::string& to) override;
  ckpt::Status rename_noreplace(const std::string& from, const std::string& to) override;
  ckpt::Status sync_dir(const std::string& path) override;
  ckpt::Result<std::vector<ckpt::DirEntry>> list(const std::string& path) override;
  ckpt::Result<ckpt::FileInfo> stat(const std::string& path) override;
  ckpt::Result<std::uint64_t> free_bytes(const std::string& path) override;
  ckpt::Result<std::unique_ptr<ckpt::FileLock>> lock(const std::string& path) override;
  ckpt::Status link(const std::string& from, const std::string& to) override;
  ckpt::Status exchange(const std::string& a, const std::string& b) override;

  struct State;  ///< shared with open files and locks

 private:
  std::shared_ptr<State> state_;
};

}  // namespace titan::crash
