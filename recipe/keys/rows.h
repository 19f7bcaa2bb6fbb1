#pragma once
// Configurations as rows of (dotted key, TOML text), as in files of other programs and in the settings of a checkpoint.
// Rows with unknown keys are allowed.
#include <string>
#include <vector>

#include "ckpt/model/lr.h"
#include "ckpt/model/settings.h"
#include "recipe/keys/key_table.h"

namespace titan::recipe {
struct Config;
}

namespace titan::ckpt {
class Fs;
}

namespace titan::recipe {

/// Reads the TOML file `path`; rows ascend by key. Arrays and dates become rows, too; empty tables do not.
/// \error kInvalid: no such file, not TOML ("path:line:column: ...")
Result<ckpt::Settings> read_rows(ckpt::Fs& fs, const std::string& path);

/// Parses "section.key=VALUE". VALUE is TOML, or a plain word, which becomes a string. \error kInvalid
Result<ckpt::Settings::value_type> parse_row(const std::string& text);

/// The name under which `rows` have the value of `key`: the key itself, an alias, or the key from which it is derived
/// while unset. Empty if `rows` lack the value; a row "not set" counts as missing.
std::string stored_key(const ckpt::Settings& rows, const std::string& key);

/// The configuration in `rows`. Reads only `keys` and their aliases; other keys keep their defaults. Types and ranges
/// are checked against the key table. Choices are not checked for keys of class "curve", since other programs have
/// other optimizers and flavours, except for keys of the LR schedule, from which rates are computed.
/// \error kInvalid: a value of another type, out of range, or not a choice
Result<Config> config_of_rows(const ckpt::Settings& rows, const std::vector<std::string>& keys);

/// The keys that lr_settings() reads.
std::vector<std::string> lr_keys();
/// The LR schedule of a configuration. Its last step is lr_scheduler.total_steps if set, else training.steps.
ckpt::LrSettings lr_settings(const Config& config);

}  // namespace titan::recipe
