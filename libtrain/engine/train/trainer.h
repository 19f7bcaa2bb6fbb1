#pragma once
// One rank of a training run, from start to end.
#include <functional>
#include <string>
#include <vector>

#include "ckpt/base/result.h"
#include "ckpt/read/weight_source.h"
#include "libtrain/engine/parallel/rendezvous.h"
#include "libtrain/job/launch/launch_env.h"
#include "libtrain/job/run/run_watcher.h"
#include "recipe/keys/loader.h"

namespace titan::train {

struct TrainOptions {
  recipe::LoadedConfig loaded;
  std::string resume = "auto";      ///< auto, required, never, or a checkpoint
  std::vector<std::string> allow;   ///< values of --allow
  ckpt::WeightOpener open_weights;  ///< for --init-from; empty: only Titan checkpoints
  LaunchEnv env;
  int threads = 1;                ///< threads per rank, already set in the environment
  std::string version;            ///< program, version, git hash
  RunWatcher* watcher = nullptr;  ///< gets steps of this rank, and saves on rank 0; may be null; must outlive the run
  std::string go_on;  ///< end of the message after a second Ctrl-C; empty: the launcher prints how to resume
  std::function<World(const ConnectOptions&)> connect;  ///< how this rank connects to its peers; empty: over the
                                                        ///< network
};

struct TrainOutcome {
  ckpt::Status status;     ///< what went wrong
  int exit_code = 0;       ///< 0: done; 75: saved and stopped early; else the status's exit code
  bool report = true;      ///< this rank should print the status (otherwise another rank does)
  bool at_stop = false;    ///< the run was already at debug.stop_at_step; nothing was done
  bool lost_rank = false;  ///< the status says that ranks no longer work together: one has died, or none makes progress
  bool is_cause = false;   ///< lost_rank is true, and this rank knows of no dead rank
};

/// Trains until training.steps, a stop, or an error; all ranks return the same exit code unless a peer died.
TrainOutcome train(const TrainOptions& options);

}  // namespace titan::train
