#pragma once
// Where a start begins: fresh, or from which checkpoint. Reads the run folder; decides by the rules of the contract.
#include <cstdint>
#include <set>
#include <string>
#include <vector>

#include "ckpt/base/fs.h"
#include "ckpt/base/result.h"
#include "ckpt/io/run_folder.h"

namespace titan::train {

struct StartRequest {
  std::string resume = "auto";      ///< auto, never, or a checkpoint
  std::int64_t load_step = -1;      ///< checkpoint.load_step; -1 = newest
  std::string checkpoint_dir;       ///< `<dump_folder>/<folder>`
};

struct StartDecision {
  std::string path;                 ///< checkpoint to load; empty: a fresh start
  std::uint64_t step = 0;           ///< of that checkpoint; 0 when fresh
  std::string reason;               ///< for the banner
  std::vector<std::string> skipped; ///< newer steps that were not taken, and why
  bool may_fall_back = false;       ///< damage found while loading may lead to the next older step
};

/// Decides, leaving out `damaged` steps (found corrupt while loading).
/// \error kInvalid (`never` where checkpoints exist), kNotFound (path or step that is not there),
/// kIncompatible (older than the run's newest step), kCorrupt (steps exist, none is valid).
ckpt::Result<StartDecision> decide_start(ckpt::Fs& fs, const StartRequest& request, const std::set<std::uint64_t>& damaged);

}  // namespace titan::train
