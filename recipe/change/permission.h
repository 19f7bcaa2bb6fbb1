#pragma once
// Which settings a user allows a resumed run to change, and the effect of each change. Pure.
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "ckpt/base/result.h"
#include "ckpt/plan/lr_policy.h"
#include "recipe/keys/key_table.h"

namespace titan::recipe {

/// The effect of a change of the row `key` (KeyFacts::effect); kNever if there is no such key.
ChangeEffect change_effect(const std::string& key);

/// The changes that this start allows.
struct Permission {
  std::set<std::string> allow;              ///< rows of accepted settings that may differ
  std::optional<ckpt::LrPolicy> on_change;  ///< lr_scheduler.on_change
  bool rewarm_from_zero = false;
  std::vector<std::string> exclude;  ///< checkpoint.exclude_from_loading, sorted
};

/// Reads the permission from `config` and from the values of --allow (each KEY[,KEY...]; "lr_scheduler.*" stands for
/// all keys of the LR schedule in that section). --allow also takes the keys of RoPE, eps and sliding windows, which
/// may differ only in a start from weights; for a resume this permits nothing. \error kInvalid: an unknown key, a key
/// that can never change within a run, or one that needs no permission
Result<Permission> read_permission(const Config& config, const std::vector<std::string>& allow);

/// The key to edit in order to change the row `key`: the key from which the row is derived while `key` is unset, else
/// `key` itself.
std::string typed_name(const std::string& key, const Config& config);
/// The key to give to --allow so that the row `key` may differ.
std::string allow_name(const std::string& key, const Config& config);

}  // namespace titan::recipe
