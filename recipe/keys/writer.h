#pragma once
// The resolved configuration as text: TOML by our own writer (shortest floats, table order), JSON, and sorted pairs.
#include <string>

#include "ckpt/model/settings.h"
#include "recipe/keys/loader.h"

namespace titan::recipe {

/// Every set key as (dotted key, TOML text), sorted by key: what a checkpoint stores.
ckpt::Settings resolved_settings(const Config& config);

/// A TOML file that loads to the same configuration (the run folder's config.toml). Unset keys are left out.
std::string config_toml(const Config& config);

/// What `titan-train config` prints: the configuration as TOML, each value with its origin as a comment; unset keys are
/// comments. Loads to the same configuration.
std::string describe_config(const LoadedConfig& loaded);

/// The same as one JSON document, schema "titan.config/1": {"schema", "config_file", "keys": [{"key", "value", "class",
/// "origin", "source", "line", "column"}], "warnings"}; an unset key has the value null.
std::string describe_config_json(const LoadedConfig& loaded);

/// Every key and flag with its class, what a changed value means for a run that resumes, and for keys of class "curve"
/// what permission for it does. One line each.
std::string key_classes();
/// The same as one JSON document, schema "titan.classes/1": {"schema", "keys": [{"key", "class", "change"}]}.
std::string key_classes_json();

/// Every key with its default, doc, limits and class, as TOML (configs/full.toml).
std::string full_toml();

}  // namespace titan::recipe
