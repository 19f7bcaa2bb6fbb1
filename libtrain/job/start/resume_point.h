#pragma once
// Decides where a start begins: fresh, from a checkpoint of the run, or from another run. Reads folders and writes
// nothing.
#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "ckpt/base/fs.h"
#include "ckpt/base/result.h"
#include "ckpt/read/weight_source.h"
#include "ckpt/run/run_folder.h"

namespace titan::recipe {
struct Config;
}

namespace titan::train {

/// Which steps a run publishes for certain. A stop signal may add any other.
struct SavePlan {
  bool enabled = false;
  std::uint64_t interval = 0;  ///< every so many steps; 0: not known
  std::uint64_t last = 0;      ///< training.steps
  std::uint64_t stop_at = 0;   ///< debug.stop_at_step; 0: none
  bool first = false;          ///< step 1, too
  bool publishes(std::uint64_t step) const;
};

struct StartRequest {
  std::string resume = "auto";             ///< auto, never, or a checkpoint
  bool typed = false;                      ///< `resume` is what was typed after --resume; it may be a mistyped word
  bool required = false;                   ///< --resume required: as auto, but nothing else than a resume will do
  bool only_new = false;                   ///< --resume never: the run folder must not have a step
  std::int64_t load_step = -1;             ///< checkpoint.load_step; -1 = newest
  std::string checkpoint_dir;              ///< `<dump_folder>/<folder>`
  std::string init_from;                   ///< checkpoint whose weights a new run takes; empty: none
  ckpt::Look look = ckpt::Look::kMembers;  ///< kManifest: only to know which checkpoint it would be, not to load it
  std::vector<std::string> exclude;        ///< components that the checkpoint need not have
  SavePlan saves;                          ///< what the run will publish
  std::set<std::uint64_t>
      unreadable;  ///< steps of the run that are passed over since the store cannot give them back (read_errors.h)
  std::string near_root;              ///< checkpoint.near; empty: none
  std::set<std::uint64_t> near_lost;  ///< steps of the near folder that are passed over, being damaged or unreadable
  ckpt::WeightOpener open_weights;    ///< for init_from; empty: checkpoints of this toolkit only
};

/// The request that `config` and the word after --resume make. initial_load_path with initial_load_model_only = false
/// means --resume PATH. \error kInvalid: two checkpoints to start from, a map without weights, a stop that could not
/// save
ckpt::Result<StartRequest> start_request(const recipe::Config& config, const std::string& resume);

enum class StartMode {
  kFresh,     ///< nothing is loaded
  kResume,    ///< all components, of this run's step or of another run's checkpoint
  kTransfer,  ///< a new run from the weights of a checkpoint
};

struct StartDecision {
  StartMode mode = StartMode::kFresh;
  std::string path;                  ///< checkpoint to load; empty: a fresh start
  std::uint64_t step = 0;            ///< of a resumed checkpoint; 0 otherwise
  std::string origin;                ///< id of the other run's checkpoint that this run starts from now; else empty
  std::string reason;                ///< for the banner
  std::vector<std::string> skipped;  ///< newer steps that were not taken, and why
  std::vector<std::string> notes;    ///< what else is worth a warning
  /// Of the checkpoint to load, one of this toolkit's: its member files were all looked at, so that nobody need do it
  /// again.
  std::optional<ckpt::Manifest> manifest;
  bool may_fall_back = false;  ///< damage found while loading may lead to the next older step
  bool near = false;           ///< `path` lies in the near folder
  bool durable = true;         ///< the run folder has the step, too; else it is still to be copied there
};

/// Decides, leaving out `damaged` steps (found corrupt while loading).
/// \error kInvalid (`never` where checkpoints exist; an unknown word after --resume), kNotFound (path or step that is
/// not there; `required` and no checkpoint), kIncompatible (older than the run's newest step; the run came from
/// elsewhere; a valid step stands where the run will save one), kCorrupt (steps exist, none is valid), kMediaError (a
/// step that would be judged cannot be read).
ckpt::Result<StartDecision> decide_start(ckpt::Fs& fs, const StartRequest& request,
                                         const std::set<std::uint64_t>& damaged);

}  // namespace titan::train
