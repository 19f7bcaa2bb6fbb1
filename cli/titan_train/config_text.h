#pragma once
// What `titan-train config` prints.
#include <string>

namespace titan::recipe {
struct LoadedConfig;
}

namespace titan::cli {

/// The configuration as TOML, each value with its origin as a comment; unset keys are comments. Loads to the same
/// configuration.
std::string config_text(const recipe::LoadedConfig& loaded);

/// config_text() as one JSON document, schema "titan.config/1": {"schema", "config_file", "keys": [{"key", "value",
/// "class", "origin", "source", "line", "column"}], "warnings"}; an unset key has the value null.
std::string config_json(const recipe::LoadedConfig& loaded);

/// Every key and flag with its class and what a changed value means for a run that resumes. One line each.
std::string classes_text();
/// classes_text() as one JSON document, schema "titan.classes/1": {"schema", "keys": [{"key", "class", "change"}]}.
std::string classes_json();

}  // namespace titan::cli
