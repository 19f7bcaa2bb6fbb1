#pragma once
// What a run does with its folder at its start, before it looks for a checkpoint.
#include <string>
#include <vector>

#include "ckpt/base/fs.h"
#include "ckpt/lock/run_guard.h"

namespace titan::ckpt {

/// A run folder that is this run's until `locks` goes.
struct OpenRun {
  RunGuard locks;                     ///< of the run folder and of the real folder of its steps
  std::vector<std::string> restored;  ///< paths of checkpoints that an interrupted tool had moved aside, put back
  std::vector<std::string> warnings;  ///< what did not work and does no harm, one line each
};

/// Makes `run_dir` and `checkpoint_dir` where they are missing, takes their locks, probes the store, and recovers what
/// dead runs and tools left. \error kLocked (a live run or tool holds one of the locks), kFailed (the store lacks
/// something we need, I/O)
Result<OpenRun> open_run(Fs& fs, const std::string& run_dir, const std::string& checkpoint_dir);

/// Looks for what would make open_run fail, without a lock or a write: missing rights, and holders of the locks.
/// \error kFailed, kLocked
Status look_at_run(Fs& fs, const std::string& run_dir, const std::string& checkpoint_dir);

/// `path`, or the nearest folder above it that is there.
std::string nearest_there(Fs& fs, std::string path);

}  // namespace titan::ckpt
