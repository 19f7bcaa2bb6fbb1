#pragma once
// Everything that one rank of a run holds from its start to its end.
//
// The near folder (checkpoint.near) is a fast folder in which saves are written first. A thread copies each step from
// the near folder to the run folder. A step is durable when it is in the run folder.
#include <chrono>
#include <functional>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "ckpt/base/path.h"
#include "ckpt/read/reader.h"
#include "ckpt/run/retention.h"
#include "ckpt/store/media_watch.h"
#include "libtrain/engine/checkpoint/checkpointer.h"
#include "libtrain/engine/exchange/gradient_exchange.h"
#include "libtrain/engine/optim/adamw.h"
#include "libtrain/engine/parallel/communicator.h"
#include "libtrain/engine/pipeline/executor.h"
#include "libtrain/engine/train/status_error.h"
#include "libtrain/engine/train/trainer.h"
#include "libtrain/job/control/agree.h"
#include "libtrain/job/launch/signals.h"
#include "libtrain/job/run/near_tier.h"
#include "libtrain/job/run/publish_hook.h"
#include "libtrain/job/run/run_files.h"
#include "libtrain/job/start/prepare.h"

namespace titan::train {

/// What only rank 0 has, since rank 0 writes the run folder. Empty on other ranks. Each member is destroyed before
/// those above it.
struct RootObjects {
  std::unique_ptr<RunFiles> files;    ///< logs and other files; holds the lock of the run
  std::unique_ptr<PublishHook> hook;  ///< only if a publish command is set
  std::unique_ptr<ckpt::Retention> retention;
  std::unique_ptr<NearTier> near;  ///< only with checkpoint.near
};

/// Steps from which a start does not resume.
struct LostSteps {
  std::set<std::uint64_t> damaged;     ///< steps of the run folder in which loading found damage
  std::set<std::uint64_t> unreadable;  ///< steps of the run folder of which two ranks could not read the same place
  std::set<std::uint64_t> near;        ///< steps of the near folder: damaged, unreadable, or copied by this start
  bool met_here = false;               ///< whether this rank found damage in the last load
};

/// The objects that compute and save on this rank. A start makes all of them but `executor` and `exchange` before it
/// loads or draws weights, and makes them again for each older checkpoint that it tries. It makes `executor` and
/// `exchange` once, when this rank has its weights. From then on all of them remain until the end of the run.
struct RankEngine {
  std::shared_ptr<const ckpt::Ownership> owners;  ///< which rank owns which leaves
  std::vector<std::uint32_t> makers;              ///< the ranks that create shard files, see ckpt::Snapshot
  std::unique_ptr<RankStages> stages;
  std::unique_ptr<ShardedAdamW> optimizer;
  std::unique_ptr<Executor> executor;
  std::unique_ptr<GradientExchange> exchange;
  std::unique_ptr<Checkpointer> checkpointer;
};

/// The position of training. Changes with each step, and is replaced as a whole when training returns to a checkpoint.
struct Progress {
  std::uint64_t step = 0;            ///< last completed step
  std::uint64_t tokens = 0;          ///< tokens read in all completed steps
  std::uint64_t optimizer_step = 0;  ///< Adam's t of the last update
  std::uint64_t next_epoch = 1;      ///< epochs before this one have been logged
  ckpt::DataPosition data;           ///< data position at the beginning of the next step
};

/// Everything that a rank has while it trains, grouped by lifetime: members are destroyed from last to first. The
/// functions of this folder take the whole struct.
struct RunState {
  explicit RunState(const TrainOptions& o)
      : options(o),
        fs(o.fs),
        checkpoint_dir(ckpt::join_path(o.loaded.config.job.dump_folder, o.loaded.config.checkpoint.folder)),
        inputs{o.loaded, o.resume, o.allow,     static_cast<std::uint32_t>(o.env.world), o.open_weights, false,
               {},       0,        stop_token()} {
    forget_start();
  }

  /// Resets what a start decides to its initial values.
  void forget_start() {
    start = {};
    start.loaded = options.loaded;
    state = {};
    progress = {};
  }

  bool root() const { return world.rank == 0; }
  /// Calls `body` on rank 0. Collective. \error StatusError on every rank if `body` failed
  void on_root(const std::function<ckpt::Status()>& body) {
    check(agree(*world.io, root() ? body() : ckpt::ok_status()));
  }

  /// Call it in a start and in other work outside of the steps. Collective. \error StatusError on every rank if a rank
  /// was asked to stop
  void heed_stop() { check(agree(*world.io, inputs.stop.check())); }

  /// How long rank 0 waits for storage: 90 % of checkpoint.io_timeout_seconds, after which the other ranks would give
  /// up waiting for rank 0.
  std::chrono::milliseconds store_patience() const {
    return std::chrono::milliseconds(static_cast<std::int64_t>(900 * config().checkpoint.io_timeout_seconds));
  }

  /// The configuration. Once the start is decided, its model is that of the loaded checkpoint.
  const recipe::Config& config() const { return start.loaded.config; }
  const recipe::RunPlan& plan() const { return start.plan; }

  // The inputs of the run.
  const TrainOptions& options;
  ckpt::Fs& fs;
  std::string checkpoint_dir;
  std::string near_folder;  ///< this run's folder inside checkpoint.near; empty: none
  std::string no_log_file;  ///< why this rank has no log file; empty: it has one
  recipe::Permission permission;

  // The start. It is decided again if the chosen step turns out to be damaged or unreadable.
  StartInputs inputs;
  Start start;
  ckpt::MediaWatch watch{fs};  ///< the file system for reading the checkpoint to resume from; records media errors
  LostSteps lost;
  recipe::Config resolved;  ///< the configuration with all values filled in, for users and checkpoints
  /// Rank 0 only: files that came with the model (such as a tokenizer), to be saved in every checkpoint; null: none.
  std::shared_ptr<const std::vector<ckpt::ModelFile>> model_files;

  // Connections to the other ranks, and the run folder. They outlive the training objects.
  World world;
  RootObjects root_objects;

  // Training.
  RankEngine engine;
  ckpt::TrainState state;  ///< what checkpoints store of the run, except what changes in each step (`progress`)
  Progress progress;
  std::chrono::steady_clock::time_point attempt_start = std::chrono::steady_clock::now();
};

}  // namespace titan::train
