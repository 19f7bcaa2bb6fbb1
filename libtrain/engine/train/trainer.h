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
  std::vector<std::string> allow;   ///< words of --allow
  ckpt::WeightOpener open_weights;  ///< for --init-from; empty: checkpoints of this toolkit only
  LaunchEnv env;
  int threads = 1;      ///< per rank, already in force in the environment
  std::string version;  ///< program, version, git hash
  RunWatcher* watcher =
      nullptr;        ///< is told of steps by this rank, and of saves by rank 0; null: nobody is; outlives the run
  std::string go_on;  ///< how a second Ctrl-C's last words end; empty: the launcher says how to go on
  std::function<World(const ConnectOptions&)> connect;  ///< how this rank finds its peers; empty: over the network
};

struct TrainOutcome {
  ckpt::Status status;     ///< what went wrong
  int exit_code = 0;       ///< 0 done, 75 saved and stopped early, else the status's
  bool report = true;      ///< this rank should print the status (another one owns the fault otherwise)
  bool at_stop = false;    ///< nothing to do: the run is at debug.stop_at_step already
  bool lost_rank = false;  ///< the status is that ranks no longer work together: another is gone, or none moves on
  bool is_cause = false;   ///< lost_rank, and this rank knows of none that is gone
};

/// Trains until training.steps, a stop, or an error; all ranks return the same exit code unless a peer died.
TrainOutcome train(const TrainOptions& options);

}  // namespace titan::train
