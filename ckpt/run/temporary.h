#pragma once
// The temporary folder in which a tool makes a new checkpoint or folder. \source FORMAT.md, "Rewriting"
#include <memory>
#include <string>
#include <vector>

#include "ckpt/lock/note_lock.h"

namespace titan::ckpt {

class Fs;

/// The folder `<DST>.tmp-rewrite`. All tools that make the same DST use this folder, because its name depends only on
/// DST. The process that holds the lock file in it owns the folder; what it finds there at first was left by a dead
/// tool. A run removes such a folder like the temporary folder of a save.
class Temporary {
 public:
  /// Creates the folder and takes its lock. Moves a checkpoint that a dead tool had moved aside back to DST, and
  /// removes all other leftovers of that tool. \error kLocked (another tool works on the same DST), kFailed
  static Result<std::unique_ptr<Temporary>> take(Fs& fs, const std::string& dst);
  /// Removes the folder, unless keep() was called.
  ~Temporary();
  Temporary(const Temporary&) = delete;
  Temporary& operator=(const Temporary&) = delete;

  /// As NoteLock::pulse() and still_ours(), for the lock of the folder.
  Status pulse() { return lock_->pulse(); }
  Status still_ours() const { return lock_->still_ours(); }

  const std::string& fresh() const { return fresh_; }  ///< path at which DST is built; does not exist at first
  /// Path to which a replaced DST may be moved; does not exist at first.
  const std::string& aside() const { return aside_; }
  /// After this call the destructor does not remove the folder.
  void keep() { kept_ = true; }
  /// Removes the folder with its content, and returns what could not be removed. Removes nothing if another tool has
  /// taken the lock.
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
