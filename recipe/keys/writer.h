#pragma once
// The resolved configuration as text: TOML by our own writer (shortest floats, table order), and sorted pairs.
#include <functional>
#include <string>

#include "ckpt/model/settings.h"
#include "recipe/keys/key_table.h"

namespace titan::recipe {

/// Every set key as (dotted key, TOML text), sorted by key: what a checkpoint stores.
ckpt::Settings resolved_settings(const Config& config);

/// A TOML file that loads to the same configuration (the run folder's config.toml). Unset keys are left out. With
/// `comment`, each key has that comment behind it, and unset keys are comments, too.
std::string config_toml(const Config& config, const std::function<std::string(const Key&)>& comment = {});

}  // namespace titan::recipe
