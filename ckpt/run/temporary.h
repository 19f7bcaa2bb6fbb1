#pragma once
// The temporary folder in which a tool makes a checkpoint or folder of a new name. \source FORMAT.md, "Rewriting"
#include <memory>
#include <string>
#include <vector>

#include "ckpt/base/fs.h"
#include "ckpt/lock/note_lock.h"

namespace titan::ckpt {

/// The folder `<DST>.tmp-rewrite`. DST fixes the name, so whoever holds the lock inside owns the folder; whatever else
/// lies there is a dead tool's. A run removes it like the temporary of a save.
class Temporary {
 public:
  /// Makes the folder and takes its lock; a checkpoint that a dead tool had moved aside goes back to DST, the rest of
  /// what it left goes away. \error kLocked (another tool on the same DST), kFailed
  static Result<std::unique_ptr<Temporary>> take(Fs& fs, const std::string& dst);
  /// Removes the folder, unless keep() was called.
  ~Temporary();
  Temporary(const Temporary&) = delete;
  Temporary& operator=(const Temporary&) = delete;

  /// As NoteLock's: that of another tool on the same DST.
  Status pulse() { return lock_->pulse(); }
  Status still_ours() const { return lock_->still_ours(); }

  const std::string& fresh() const { return fresh_; }  ///< where DST is made; not there at first
  const std::string& aside() const { return aside_; }  ///< where a replaced DST may be moved; not there at first
  /// From now on what lies in the folder is not the destructor's to remove.
  void keep() { kept_ = true; }
  /// Removes the folder, whatever is in it, and returns what could not be removed. Removes nothing once another tool
  /// has the lock.
  std::vector<std::string> remove();

 private:
  Temporary(Fs& fs, const std::string& dst);
  Status clear();

  Fs& fs_;
  std::string dst_, folder_, fresh_, aside_;
  std::unique_ptr<NoteLock> lock_;
  bool kept_ = false;
};

}  // namespace titan::ckpt
