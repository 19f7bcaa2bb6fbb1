#pragma once
// What a resume does with settings that differ from the checkpoint's: per key, and as the state to go on with. Pure.
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "ckpt/base/result.h"
#include "ckpt/model/data_position.h"
#include "ckpt/model/lr.h"
#include "ckpt/model/train_state.h"
#include "ckpt/plan/lr_preview.h"
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
  std::string key = {};  ///< the key to edit: training.steps while lr_scheduler.total_steps is derived from it
  ChangeEffect effect = ChangeEffect::kNever;
  bool allowed = false;
  std::string what;           ///< what happens when it is allowed, or why it cannot be
  std::string allow;          ///< the key to allow; empty when it is allowed already, or nothing helps
  bool needs_policy = false;  ///< an LR policy has to be named as well
};

struct Continuation {
  std::vector<Change> changes;            ///< in key order
  std::vector<ckpt::LrPreview> previews;  ///< of all five, when an LR setting differs
  std::vector<std::string> warnings;
  std::string same_data;   ///< note: these are the checkpoint's files under other names or in another order; else ""
  std::string other_sets;  ///< note, where verdict is ok: what changes in each set of a mixture; else ""

  // The state to go on with, when verdict is ok.
  ckpt::LrSchedule lr;
  ckpt::DataPosition data;
  ckpt::Settings accepted;
  std::optional<ckpt::LrPolicy> policy;  ///< applied
  std::vector<std::string> changed;      ///< "key: old -> new" of what was applied, for the history
  bool fresh_optimizer = false;          ///< moments of zero, t = 0
  bool fresh_data = false;               ///< sample 0 of epoch 0

  /// The preview of the policy that is applied; null without a policy or without previews.
  const ckpt::LrPreview* chosen() const {
    return policy && !previews.empty() ? &previews[static_cast<std::size_t>(*policy)] : nullptr;
  }

  Status verdict;  ///< kIncompatible: not allowed; kInvalid: allowed, but no policy is named, or it cannot do this
};

/// Decides what happens. `seed`: the config's if it names one, else the run's. `configured`: the start of the dataset
/// that the config names; files with the same contents as the checkpoint's count as the same, whatever their names.
Continuation continue_run(const StoredRun& stored, const Config& config, const RunPlan& plan,
                          const ckpt::DataPosition& configured, std::uint64_t seed, const Permission& permission);

/// What a start without a checkpoint stores as accepted settings.
ckpt::Settings first_settings(const Config& config, const RunPlan& plan, const ckpt::DataPosition& dataset,
                              std::uint64_t seed, const Permission& permission);

}  // namespace titan::recipe
