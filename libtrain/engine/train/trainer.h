#pragma once
// One rank of a training run, from start to end.
#include <functional>
#include <string>
#include <vector>

#include "ckpt/base/fs_posix.h"
#include "ckpt/base/result.h"
#include "ckpt/read/weight_source.h"
#include "libtrain/engine/parallel/rendezvous.h"
#include "libtrain/job/launch/launch_env.h"
#include "libtrain/job/run/run_watcher.h"
#include "recipe/keys/loader.h"

namespace titan::train {

/// What one rank needs to run.
struct TrainOptions {
  recipe::LoadedConfig loaded;      ///< the configuration
  std::string resume = "auto";      ///< value of --resume: auto, required, never, or a checkpoint
  std::vector<std::string> allow;   ///< values of --allow
  ckpt::WeightOpener open_weights;  ///< for --init-from; empty: only Titan checkpoints
  LaunchEnv env;
  ckpt::Fs& fs = ckpt::posix_fs();  ///< files of data apart, which are found and mapped on this host
  int threads = 1;                  ///< threads per rank, already set in the environment
  std::string version;              ///< program, version, git hash
  RunWatcher* watcher = nullptr;    ///< is told of steps, and on rank 0 of saves; may be null; must outlive the run
  std::string resume_hint;  ///< how to resume, for the message after a second Ctrl-C; empty: the launcher prints it
  std::function<World(const ConnectOptions&)> connect;  ///< how this rank connects to its peers; empty: over the
                                                        ///< network
};

/// How the run ended on this rank.
struct TrainOutcome {
  ckpt::Status status;     ///< what went wrong
  int exit_code = 0;       ///< 0: done; 75: saved and stopped early; 130, 143: stopped unsaved; else that of `status`
  bool report = true;      ///< this rank should print the status (otherwise another rank does)
  bool at_stop = false;    ///< the run was already at debug.stop_at_step, so no step was trained
  bool lost_rank = false;  ///< the status is a failed communication: a rank has died, or a transfer does not end
  bool is_cause = false;   ///< lost_rank is true, and this rank does not know of a dead rank
};

/// Runs this rank from start to end: until training.steps, a stop, or an error. All ranks return the same exit code
/// unless a rank has died.
TrainOutcome train(const TrainOptions& options);

}  // namespace titan::train
