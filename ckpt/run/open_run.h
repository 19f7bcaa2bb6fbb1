#pragma once
// Opens the folder of a run when it starts, before it looks for a checkpoint.
#include <string>
#include <vector>

#include "ckpt/lock/run_guard.h"

namespace titan::ckpt {

class Fs;

/// An open run folder. It belongs to this process as long as `locks` exists.
struct OpenRun {
  RunGuard locks;                     ///< of the run folder and of the real folder of its steps
  std::vector<std::string> restored;  ///< paths of checkpoints that a tool had moved aside and that were put back
  std::vector<std::string> warnings;  ///< harmless failures, one line each
};

/// Creates `run_dir` and `checkpoint_dir` if they are missing, takes their locks, tests the store, and recovers from
/// dead runs and tools. \error kInvalid (a folder cannot have this name), kLocked (a live run or tool holds one of the
/// locks), kFailed (the store lacks something that Titan needs, I/O)
Result<OpenRun> open_run(Fs& fs, const std::string& run_dir, const std::string& checkpoint_dir);

/// Checks for what would make open_run() fail, without locking or writing: files in place of folders, missing rights,
/// and held locks. \error kInvalid, kFailed, kLocked
Status look_at_run(Fs& fs, const std::string& run_dir, const std::string& checkpoint_dir);

/// `path`, or its nearest ancestor that exists.
std::string nearest_there(Fs& fs, std::string path);

}  // namespace titan::ckpt
