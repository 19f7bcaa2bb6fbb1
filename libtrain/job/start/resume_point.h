#pragma once
// Decides where a start begins: from scratch, from a checkpoint of the run, or from another run's. Writes nothing.
#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "ckpt/base/result.h"
#include "ckpt/read/weight_source.h"
#include "ckpt/run/run_folder.h"

namespace titan::ckpt {
class Fs;
}

namespace titan::recipe {
struct Config;
}

namespace titan::train {

/// Which steps a run will certainly publish. A stop signal may add any other step.
struct SavePlan {
  bool enabled = false;
  std::uint64_t interval = 0;  ///< in steps; 0: not known
  std::uint64_t last = 0;      ///< training.steps
  std::uint64_t stop_at = 0;   ///< debug.stop_at_step; 0: none
  bool first = false;          ///< step 1 is published too
  bool publishes(std::uint64_t step) const;
};

struct StartRequest {
  std::string resume = "auto";  ///< auto, never, or a checkpoint
  bool typed = false;           ///< `resume` was typed after --resume, so it may be a mistyped word
  bool required = false;        ///< --resume required: like auto, but only a resume is accepted
  bool only_new = false;        ///< --resume never: the run folder must not contain a step
  std::int64_t load_step = -1;  ///< checkpoint.load_step; -1 = newest
  std::string checkpoint_dir;   ///< `<dump_folder>/<folder>`
  std::string init_from;        ///< checkpoint with the initial weights of a new run; empty: none
  /// kManifest: only to find out which checkpoint would be loaded.
  ckpt::CheckDepth check_depth = ckpt::CheckDepth::kMembers;
  std::vector<std::string> exclude;  ///< components that the checkpoint need not have
  SavePlan saves;                    ///< the steps that the run will publish
  std::set<std::uint64_t>
      unreadable;         ///< steps of the run that are skipped because they cannot be read (read_errors.h)
  std::string near_root;  ///< checkpoint.near; empty: none
  std::set<std::uint64_t>
      near_lost;  ///< steps of the near folder that are skipped because they are damaged or unreadable
  ckpt::WeightOpener open_weights;  ///< for init_from; empty: only Titan checkpoints
};

/// The request for `config` and the value of --resume. initial_load_path with initial_load_model_only = false means
/// --resume PATH. \error kInvalid: two checkpoints to start from, name rules (--init-map, ...) without a transfer, an
/// empty initial_load_path, debug.stop_at_step although saves are off
ckpt::Result<StartRequest> start_request(const recipe::Config& config, const std::string& resume);

/// Refuses --resume required if there is no folder with steps: neither in the run folder nor near. Ranks call it before
/// they create the run folder, so that none is created while its file system is not mounted. \error kNotFound
ckpt::Status check_folder_to_resume(ckpt::Fs& fs, const StartRequest& request);

enum class StartMode {
  kFresh,     ///< nothing is loaded
  kResume,    ///< all components, from a step of this run or from another run's checkpoint
  kTransfer,  ///< a new run from the weights of a checkpoint
};

struct StartDecision {
  StartMode mode = StartMode::kFresh;
  std::string path;                  ///< checkpoint to load; empty: a fresh start
  std::uint64_t step = 0;            ///< of a resumed checkpoint; 0 otherwise
  std::string origin;                ///< id of another run's checkpoint that this run now starts from; else empty
  std::string reason;                ///< for the log and `plan`
  std::vector<std::string> skipped;  ///< newer steps that were not taken, and why
  std::vector<std::string> notes;    ///< other warnings
  /// The manifest of the checkpoint to load, if it is a Titan checkpoint. With CheckDepth::kMembers its member files
  /// have been checked, so that no rank has to check them again.
  std::optional<ckpt::Manifest> manifest;
  bool may_fall_back = false;  ///< damage found while loading may lead to the next older step
  bool near = false;           ///< `path` is in the near folder
  bool durable = true;         ///< the step is in the run folder; otherwise it must still be copied there
};

/// Decides where the start begins, excluding `damaged` steps (found corrupt while loading). \error kInvalid (`never`
/// although checkpoints exist; an unknown word after --resume), kNotFound (the path or step does not exist; `required`
/// and no checkpoint), kIncompatible (the step is older than the run's newest one; the run did not begin from the
/// given checkpoint; a valid step exists where the run will save one; the folder has only torch checkpoints; a
/// component is missing; a newer format), kCorrupt (steps exist, but none can be resumed, and at least one is damaged),
/// kMediaError (a step that must be checked cannot be read), kFailed (a folder cannot be listed).
ckpt::Result<StartDecision> decide_start(ckpt::Fs& fs, const StartRequest& request,
                                         const std::set<std::uint64_t>& damaged);

}  // namespace titan::train
