#pragma once
// Opens the folder of a run at its start, before the run looks for a checkpoint.
#include <string>
#include <vector>

#include "ckpt/lock/run_guard.h"

namespace titan::ckpt {

class Fs;

/// An open run folder. It belongs to this process as long as `locks` exists.
struct OpenRun {
  RunGuard locks;                     ///< of the run folder and of the real folder of its steps
  std::vector<std::string> restored;  ///< paths of checkpoints put back that a tool had moved aside
  std::vector<std::string> warnings;  ///< what failed without harm, one line each
};

/// Creates `run_dir` and `checkpoint_dir` if they are missing, takes their locks, probes the store, and recovers what
/// dead runs and tools left. \error kLocked (a live run or tool holds one of the locks), kFailed (the store lacks
/// something that Titan needs, I/O)
Result<OpenRun> open_run(Fs& fs, const std::string& run_dir, const std::string& checkpoint_dir);

/// Looks for what would make open_run fail, without locking or writing: missing rights, and holders of the locks.
/// \error kFailed, kLocked
Status look_at_run(Fs& fs, const std::string& run_dir, const std::string& checkpoint_dir);

/// `path`, or the nearest folder above it that exists.
std::string nearest_there(Fs& fs, std::string path);

}  // namespace titan::ckpt
