#pragma once
// Which runs a place lies in, and their locks. \source FORMAT.md, "The lock of a run"
#include <memory>
#include <string>
#include <vector>

#include "ckpt/base/fs.h"
#include "ckpt/io/run_lock.h"

namespace titan::ckpt {

/// The folders whose locks protect `folder`: the nearest one upwards with a run.lock, along the path as typed, else
/// with its links resolved. With `steps` the folder holds steps, or will: then its own real path comes last, always,
/// and one called "checkpoint" is its parent's as well, even where no lock was ever taken there.
std::vector<std::string> runs_around(Fs& fs, const std::string& folder, bool steps);

/// Holds the locks of runs_around() until destroyed.
class RunGuard {
 public:
  /// \error kLocked: who holds one since when; kFailed
  static Result<RunGuard> take(Fs& fs, const std::string& folder, bool steps);
  /// Those of a run: of `run_dir`, and of the real folder of its steps, whatever path leads to that. Both folders
  /// exist.
  static Result<RunGuard> take_run(Fs& fs, const std::string& run_dir, const std::string& checkpoint_dir);
  /// RunLock::look at the same folders, as far as they are there.
  static Status look_at_run(Fs& fs, const std::string& run_dir, const std::string& checkpoint_dir);
  /// As NoteLock's, of each.
  Status pulse();
  Status beat(double now);
  /// Looks at each lock anew; from any thread. \error kLocked when another process holds one by now: nothing may be
  /// published or deleted
  Status still_ours() const;
  /// kLocked once a heartbeat has found that another process holds one. Reads nothing; from any thread.
  Status lost() const;
  /// NoteLock::mark() of the lock on the folder of steps.
  std::string mark() const { return locks_.back()->mark(); }
  /// Whether each lock has a thread that writes its heartbeat.
  bool beating() const;

 private:
  static Result<RunGuard> take_all(Fs& fs, const std::vector<std::string>& folders);

  std::vector<std::unique_ptr<NoteLock>> locks_;
};

}  // namespace titan::ckpt
