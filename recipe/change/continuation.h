#pragma once
// What a resume does with settings that differ from the checkpoint's: per key, and as the state to go on with. Pure.
#include <cstdint>
#include <string>
#include <vector>

#include "ckpt/base/result.h"
#include "ckpt/model/data_position.h"
#include "ckpt/model/lr.h"
#include "ckpt/model/train_state.h"
#include "ckpt/plan/lr_policy.h"
#include "recipe/change/drift.h"
#include "recipe/change/permission.h"
#include "recipe/plan/run_plan.h"

namespace titan::recipe {

/// The parts of a checkpoint that say how it was trained.
struct StoredRun {
  std::string path;  ///< for messages
  std::uint64_t optimizer_step = 0;
  ckpt::LrSchedule lr;
  ckpt::DataPosition data;
  ckpt::TrainState state;
  bool elsewhere = false;     ///< another run's checkpoint, which this run starts from now
  bool has_optimizer = true;  ///< the checkpoint has moments
};

/// One setting that differs.
struct Change {
  Drift drift;
  ChangeEffect effect = ChangeEffect::kNever;
  bool allowed = false;
  std::string what;  ///< what happens when it is allowed, or why it cannot be
  std::string type;  ///< what to type to allow it; empty where nothing helps
};

/// What one LR policy would do.
struct PolicyPreview {
  ckpt::LrPolicy policy = ckpt::LrPolicy::kKeep;
  Status refused;  ///< not ok: the policy cannot do this change
  ckpt::PolicyResult result;
};

struct Continuation {
  std::vector<Change> changes;          ///< in key order
  std::vector<PolicyPreview> previews;  ///< of all five, when an LR setting differs
  std::vector<std::string> warnings;
  std::string same_data;  ///< files that are the checkpoint's under other names or in another order; "" for none

  // The state to go on with, when verdict is ok.
  ckpt::LrSchedule lr;
  ckpt::DataPosition data;
  ckpt::Settings accepted;
  std::string policy;                ///< applied; empty for none
  std::vector<std::string> changed;  ///< "key: old -> new" of what was applied, for the history
  bool fresh_optimizer = false;      ///< moments of zero, t = 0
  bool fresh_data = false;           ///< sample 0 of epoch 0

  Status verdict;  ///< kIncompatible: not allowed; kInvalid: allowed, but no policy named, or one that cannot do it
};

/// Decides. `seed`: of the config where it names one, else the run's. `configured`: origin of the dataset as it is
/// there; files with the contents of the checkpoint's are the checkpoint's, whatever their names.
Continuation continue_run(const StoredRun& stored, const Config& config, const RunPlan& plan,
                          const ckpt::DataPosition& configured, std::uint64_t seed, const Permission& permission);

/// What a start without a checkpoint stores as accepted settings.
ckpt::Settings first_settings(const Config& config, const RunPlan& plan, const ckpt::DataPosition& dataset,
                              std::uint64_t seed, const Permission& permission);

/// One line per change: key, both values, class, what will happen, what to type.
std::vector<std::string> change_lines(const std::vector<Change>& changes);
/// One line per policy: the next learning rate and its jump, the middle, the end; or why the policy cannot be used.
std::vector<std::string> preview_lines(const std::vector<PolicyPreview>& previews, const ckpt::LrSchedule& so_far,
                                       std::uint64_t step);

}  // namespace titan::recipe
