#pragma once
// Finds the runs that a folder belongs to, and takes their locks. \source FORMAT.md, "The lock of a run"
#include <memory>
#include <string>
#include <vector>

#include "ckpt/lock/run_lock.h"

namespace titan::ckpt {

class Fs;

/// The folders whose locks protect `folder`, each once, in the order of the lists below. `steps`: `folder` holds steps
/// or will hold some. "Nearest" is the first folder with a run.lock on the way up the path as typed, from `folder` on
/// (with `steps`, from the folder above it); if there is none, on the way up the real path. A file run.lock of another
/// program does not count. Without `steps` (the result is empty if no folder has a run.lock):
/// - the parent of the nearest folder, if the nearest is called "checkpoint" and its parent also has a run.lock
/// - the nearest folder with a run.lock: `folder` itself or one above it
/// With `steps`:
/// - the nearest folder above `folder` with a run.lock, if there is one
/// - the parent of `folder`, if `folder` is called "checkpoint", even if no lock was ever taken in the parent
/// - the real path of `folder`
/// Example: "/a/checkpoint" with `steps` gives "/a", "/a/checkpoint".
std::vector<std::string> runs_around(Fs& fs, const std::string& folder, bool steps);

/// Holds the locks of runs_around() until destroyed.
class RunGuard {
 public:
  /// Takes the locks of runs_around(). \error kLocked (names the holder, and since when), kInterrupted or kTerminated
  /// (lock_wait().cancel ended the wait), kMediaError, kFailed
  static Result<RunGuard> take(Fs& fs, const std::string& folder, bool steps);
  /// Takes the locks of a run: on `run_dir` and on the real folder of its steps. Both folders must exist.
  static Result<RunGuard> take_run(Fs& fs, const std::string& run_dir, const std::string& checkpoint_dir);
  /// RunLock::look() for the folders of take_run(), if they exist.
  static Status look_at_run(Fs& fs, const std::string& run_dir, const std::string& checkpoint_dir);
  /// Calls NoteLock::pulse() or NoteLock::beat() of each lock, up to the first error.
  Status pulse();
  Status beat(double now);
  /// Reads the note of each lock again, from any thread. \error kLocked (another process has one of the locks, or its
  /// file was removed: nothing may be published or deleted), or an I/O error
  Status still_ours() const;
  /// kLocked once a heartbeat has found that one of the locks is lost (NoteLock::lost()). Does no I/O; from any thread.
  Status lost() const;
  /// NoteLock::mark() of the last lock. After take_run(), and after take() with `steps`, this is the lock of the folder
  /// of steps. There must be a lock.
  std::string mark() const { return locks_.back()->mark(); }
  /// Whether each lock has a thread that writes its heartbeat.
  bool beating() const;

 private:
  static Result<RunGuard> take_all(Fs& fs, const std::vector<std::string>& folders);

  std::vector<std::unique_ptr<NoteLock>> locks_;
};

}  // namespace titan::ckpt
