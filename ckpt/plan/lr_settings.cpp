#include "ckpt/plan/lr_settings.h"

#include <algorithm>

#include "ckpt/base/toml_text.h"

namespace titan::ckpt {

Settings lr_rows(const LrSettings& settings) {
  return {
      {"lr_scheduler.decay_ratio", settings.decay_ratio ? toml_float(*settings.decay_ratio) : kNotSet},
      {"lr_scheduler.decay_type", toml_string(settings.decay_type)},
      {"lr_scheduler.min_lr_factor", toml_float(settings.min_lr_factor)},
      {"lr_scheduler.total_steps", std::to_string(settings.total_steps)},
      {"lr_scheduler.warmup_steps", std::to_string(settings.warmup_steps)},
      {"optimizer.lr", toml_float(settings.peak)},
  };
}

bool is_lr_key(const std::string& key) {
  static const Settings rows = lr_rows({});
  return std::any_of(rows.begin(), rows.end(), [&](const auto& row) { return row.first == key; });
}

namespace {
Settings::const_iterator find_row(const Settings& settings, const std::string& key) {
  const auto found = std::lower_bound(settings.begin(), settings.end(), key,
                                      [](const auto& row, const std::string& k) { return row.first < k; });
  return found != settings.end() && found->first == key ? found : settings.end();
}
}  // namespace

bool has_setting(const Settings& settings, const std::string& key) { return find_row(settings, key) != settings.end(); }

std::string setting(const Settings& settings, const std::string& key) {
  const auto found = find_row(settings, key);
  return found != settings.end() ? found->second : kNotSet;
}

Settings with_rows(Settings settings, const Settings& changes) {
  for (const auto& [key, value] : changes) {
    const auto found =
        std::find_if(settings.begin(), settings.end(), [&key = key](const auto& row) { return row.first == key; });
    if (found != settings.end()) {
      found->second = value;
    } else {
      settings.emplace_back(key, value);
    }
  }
  std::sort(settings.begin(), settings.end());
  return settings;
}

}  // namespace titan::ckpt
