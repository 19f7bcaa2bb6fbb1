#pragma once
// The LR settings as rows of (key, TOML text): the form in which accepted settings are stored and drift is found.
#include <string>

#include "ckpt/model/lr.h"
#include "ckpt/model/settings.h"

namespace titan::ckpt {

inline constexpr const char* kNotSet = "not set";  ///< the text of a setting that is absent

/// The six rows of `settings` under the keys that a person would edit, keys ascending: lr_scheduler.{decay_ratio,
/// decay_type, min_lr_factor, total_steps, warmup_steps}, optimizer.lr.
Settings lr_rows(const LrSettings& settings);

/// True for a key of lr_rows.
bool is_lr_key(const std::string& key);

/// True when sorted settings have a row `key`.
bool has_setting(const Settings& settings, const std::string& key);
/// The value under `key` of sorted settings, or kNotSet.
std::string setting(const Settings& settings, const std::string& key);
/// `settings` with the rows of `changes` put in, sorted.
Settings with_rows(Settings settings, const Settings& changes);

}  // namespace titan::ckpt
