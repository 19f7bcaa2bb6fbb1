#pragma once
// The LR settings as rows of (key, TOML text). Accepted settings are stored in this form, and drift detection compares
// settings in this form.
#include <string>

#include "ckpt/model/lr.h"
#include "ckpt/model/settings.h"

namespace titan::ckpt {

inline constexpr const char* kNotSet = "not set";  ///< the text of a missing setting

/// The six rows of `settings` under their configuration keys, in ascending order: lr_scheduler.{decay_ratio,
/// decay_type, min_lr_factor, total_steps, warmup_steps}, optimizer.lr.
Settings lr_rows(const LrSettings& settings);

/// True for the key of a row of lr_rows().
bool is_lr_key(const std::string& key);

/// True if the sorted `settings` have a row `key`.
bool has_setting(const Settings& settings, const std::string& key);
/// The value of `key` in the sorted `settings`, or kNotSet.
std::string setting(const Settings& settings, const std::string& key);
/// `settings` with the rows of `changes`, which replace rows of the same key; sorted.
Settings with_rows(Settings settings, const Settings& changes);

}  // namespace titan::ckpt
