#pragma once
// What a resume does if settings differ from the checkpoint's: the effect of each key, and the state with which the run
// continues. Pure.
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

namespace titan::recipe {

struct RunPlan;

/// The state in a checkpoint that a resume continues from, apart from tensors.
struct StoredRun {
  std::string path;  ///< for messages
  std::uint64_t optimizer_step = 0;
  ckpt::LrSchedule lr;
  ckpt::DataPosition data;
  ckpt::TrainState state;
  bool elsewhere = false;     ///< true: the checkpoint belongs to another run, and this run starts from it
  bool has_optimizer = true;  ///< the checkpoint has Adam moments
};

/// One setting that differs.
struct Change {
  Drift drift;
  std::string key = {};  ///< the key to edit; training.steps as long as lr_scheduler.total_steps is derived from it
  ChangeEffect effect = ChangeEffect::kNever;
  bool allowed = false;
  std::string what;           ///< what happens if the change is allowed, or why it cannot be allowed
  std::string allow;          ///< the key to name in --allow; empty if already allowed, or never allowed
  bool needs_policy = false;  ///< an LR policy must be named as well
};

/// The outcome for all settings.
struct Continuation {
  std::vector<Change> changes;            ///< in key order
  std::vector<ckpt::LrPreview> previews;  ///< one for each of the five policies; empty if there is nothing to choose
  std::vector<std::string> warnings;
  std::string same_data;  ///< note: the data files are the checkpoint's, under other names or in another order; else ""
  std::string other_sets;  ///< note: what changes in each set of a mixture; "" if nothing, or if the resume is refused

  // The state that training continues with; valid if the resume is not refused (`verdict`).
  ckpt::LrSchedule lr;
  ckpt::DataPosition data;
  ckpt::Settings accepted;
  std::optional<ckpt::LrPolicy> policy;  ///< the policy that was applied
  std::vector<std::string> changed;      ///< applied changes, "key: old -> new", for the history
  bool fresh_optimizer = false;          ///< start with zero moments and t = 0
  bool fresh_data = false;               ///< start at sample 0 of epoch 0

  /// The preview of the applied policy; null without a policy or without previews.
  const ckpt::LrPreview* chosen() const {
    return policy && !previews.empty() ? &previews[static_cast<std::size_t>(*policy)] : nullptr;
  }

  Status verdict;  ///< kIncompatible: not allowed; kInvalid: allowed, but no policy is named or the policy rejects the
                   ///< settings
};

/// Compares the settings and decides about each difference. `seed` is the configuration's seed if it sets one, else the
/// run's. `configured` is the start position of the configured dataset. Data files count as the checkpoint's if their
/// contents are equal, whatever their names.
Continuation continue_run(const StoredRun& stored, const Config& config, const RunPlan& plan,
                          const ckpt::DataPosition& configured, std::uint64_t seed, const Permission& permission);

/// The accepted settings that a start without a checkpoint stores.
ckpt::Settings first_settings(const Config& config, const RunPlan& plan, const ckpt::DataPosition& dataset,
                              std::uint64_t seed, const Permission& permission);

}  // namespace titan::recipe
