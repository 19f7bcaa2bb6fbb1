#pragma once
// Writes a configuration as text: as TOML (shortest floats, keys in the table's order) and as sorted pairs.
#include <functional>
#include <string>

#include "ckpt/model/settings.h"
#include "recipe/keys/key_table.h"

namespace titan::recipe {

/// Every set key as (dotted key, TOML text), sorted by key. A checkpoint stores these pairs.
ckpt::Settings resolved_settings(const Config& config);

/// A TOML file that loads to the same configuration (the run folder's config.toml). Unset keys are omitted. With
/// `comment`, each key gets that comment at the end of its line, and unset keys are written as commented-out lines.
std::string config_toml(const Config& config, const std::function<std::string(const Key&)>& comment = {});

}  // namespace titan::recipe
