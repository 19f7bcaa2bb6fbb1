#pragma once
// What a user permits a resumed run to change, and what each change then does. Pure.
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "ckpt/base/result.h"
#include "ckpt/plan/lr_policy.h"
#include "recipe/keys/config.h"

namespace titan::recipe {

using ckpt::Result;
using ckpt::Status;

/// What an allowed change of a setting does from the next step on.
enum class ChangeEffect {
  kSchedule,     ///< the LR policy decides
  kInPlace,      ///< the config's value; moments and Adam's step are kept
  kGlobalBatch,  ///< the config's value at the same sample position
  kNewEpoch,     ///< a new epoch of the data begins
  kNever,        ///< cannot change within a run
};
ChangeEffect change_effect(const std::string& key);

/// How a key of the model that differs from the checkpoint's is met where a new run takes weights.
enum class TransferRule {
  kShapes,      ///< the tensors show it: by the rules of a map
  kPermission,  ///< the tensors do not show it, and another value is a thing people do (longer contexts): with
                ///< permission
  kNever,       ///< the tensors do not show it, and another value is another model
};
TransferRule transfer_rule(const std::string& key);

/// What this start may change.
struct Permission {
  std::set<std::string> allow;              ///< rows of accepted settings that may differ
  std::optional<ckpt::LrPolicy> on_change;  ///< lr_scheduler.on_change
  bool rewarm_from_zero = false;
  std::vector<std::string> exclude;  ///< checkpoint.exclude_from_loading, sorted
};

/// Reads the permission of `config` and of the words of --allow (each KEY[,KEY...]; "lr_scheduler.*" stands for its
/// keys). With weights to start from, keys of RoPE and eps are permitted too, for that start.
/// \error kInvalid: an unknown key, one that can never change within a run, one that may change freely
Result<Permission> read_permission(const Config& config, const std::vector<std::string>& allow);

/// The key that a person allows so that the row `key` may differ.
std::string allow_name(const std::string& key, const Config& config);

}  // namespace titan::recipe
