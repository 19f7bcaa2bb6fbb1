#pragma once
// Which runs a place lies in, and their locks. \source FORMAT.md, "The lock of a run"
#include <memory>
#include <string>
#include <vector>

#include "ckpt/base/fs.h"
#include "ckpt/io/run_lock.h"

namespace titan::ckpt {

/// The run folders that `folder` lies in, as typed where that names them: the nearest one upwards with a run.lock, along the path as typed,
/// else with its links resolved. With `steps` the folder holds steps, or will: one called "checkpoint" is its parent's as well, even where
/// no lock was ever taken there, and one that lies in no run is its own.
std::vector<std::string> runs_around(Fs& fs, const std::string& folder, bool steps);

/// Holds the locks of runs_around() until destroyed.
class RunGuard {
 public:
  /// \error kLocked: who holds one since when; kFailed
  static Result<RunGuard> take(Fs& fs, const std::string& folder, bool steps);
  /// As RunLock's, of each.
  Status pulse();
  Status beat(double now);

 private:
  std::vector<std::unique_ptr<RunLock>> locks_;
};

}  // namespace titan::ckpt
