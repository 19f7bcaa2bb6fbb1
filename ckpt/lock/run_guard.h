#pragma once
// Which runs a place lies in, and their locks. \source FORMAT.md, "The lock of a run"
#include <memory>
#include <string>
#include <vector>

#include "ckpt/base/fs.h"
#include "ckpt/lock/run_lock.h"

namespace titan::ckpt {

/// The folders whose locks protect `folder`. That is the nearest folder above it with a run.lock: along the path as
/// typed, else along the real path. With `steps` the folder holds steps, or will hold some. Then its own real path is
/// the last one, and a folder called "checkpoint" also belongs to its parent, even where no lock was ever taken.
/// Example: "/a/checkpoint" with `steps` gives "/a", "/a/checkpoint".
std::vector<std::string> runs_around(Fs& fs, const std::string& folder, bool steps);

/// Holds the locks of runs_around() until destroyed.
class RunGuard {
 public:
  /// \error kLocked: who holds one since when; kFailed
  static Result<RunGuard> take(Fs& fs, const std::string& folder, bool steps);
  /// Takes the locks of a run: of `run_dir` and of the real folder of its steps. Both folders exist.
  static Result<RunGuard> take_run(Fs& fs, const std::string& run_dir, const std::string& checkpoint_dir);
  /// RunLock::look at the same folders, as far as they are there.
  static Status look_at_run(Fs& fs, const std::string& run_dir, const std::string& checkpoint_dir);
  /// Calls NoteLock::pulse, or beat, of each lock.
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
