#pragma once
// Loads a TOML file and command-line overrides into a checked Config, and records where each value came from.
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "recipe/keys/config.h"
#include "recipe/keys/key_table.h"

namespace titan::recipe {

/// Where a value came from.
struct Origin {
  enum class Kind { kDefault, kFile, kFlag, kCheckpoint };
  Kind kind = Kind::kDefault;
  std::string source;                  ///< path of the file or checkpoint, or the flag as typed ("--training.steps")
  std::uint32_t line = 0, column = 0;  ///< in the file, from 1
  bool operator==(const Origin&) const = default;
  /// "default", "run.toml:3:9", "flag --training.steps", "checkpoint run/checkpoint/step-00000100".
  std::string text() const;
};

/// A checked configuration, and where its values came from.
struct LoadedConfig {
  Config config;
  std::map<std::string, Origin> origins;  ///< for every key with an effect
  std::vector<std::string> warnings;
};

/// Reads `path` (empty: only defaults) and applies `overrides`, the command-line arguments about keys as typed:
/// --section.key=value, --section.key value, --section.flag, --section.no_flag, --set section.key=value, --set=...
/// In names '-' equals '_'. Precedence: flag > --set > file > default; the last of several flags wins. Whether the
/// dimensions make a valid model is not checked here but by check_model() (run_config.h). An unsupported value in the
/// file that changes neither the loss curve nor what can be resumed is ignored with a warning (KeyFacts::ignore_if).
/// With `refused`, unsupported keys of torchtitan do not fail the call: their errors are stored in `refused`, and the
/// configuration is loaded without them.
/// \error kInvalid: unreadable file, not TOML, unknown keys, wrong types, out of range; kUnsupported: the only problems
/// are values that are not supported. Several problems (the first 20) become causes of one Status
Result<LoadedConfig> load_config(const std::string& path, const std::vector<std::string>& overrides = {},
                                 Status* refused = nullptr);

/// As load_config, for the text of a file named `path`.
Result<LoadedConfig> load_config_text(std::string_view text, const std::string& path,
                                      const std::vector<std::string>& overrides = {}, Status* refused = nullptr);

}  // namespace titan::recipe
