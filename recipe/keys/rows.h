#pragma once
// Configurations as rows of (dotted key, TOML text): files of other programs, and the settings that a checkpoint
// carries. There may be rows that nobody asks for.
#include <string>
#include <vector>

#include "ckpt/base/fs.h"
#include "ckpt/model/lr.h"
#include "ckpt/model/settings.h"
#include "recipe/keys/key_table.h"

namespace titan::recipe {

/// Reads the TOML file `path`; rows ascend by key. Arrays and dates are rows, too; empty tables are not. \error
/// kInvalid: no such file, not TOML ("path:line:column: ...")
Result<ckpt::Settings> read_rows(ckpt::Fs& fs, const std::string& path);

/// "section.key=VALUE" as a row: VALUE is TOML, or a plain word that stands for a string. \error kInvalid
Result<ckpt::Settings::value_type> parse_row(const std::string& text);

/// The name under which `rows` give `key`: its own, an alias, or the key that it follows while it is unset. Empty when
/// they do not give it; a row "not set" gives nothing.
std::string said_as(const ckpt::Settings& rows, const std::string& key);

/// The configuration of `rows`. Only `keys` and their aliases are read; other keys keep their defaults. The key table
/// checks types and ranges. Choices are checked for the LR schedule only, because curves are computed from it; other
/// programs have other optimizers and flavours.
/// \error kInvalid: a value of another type, out of range, or no such choice
Result<Config> config_of_rows(const ckpt::Settings& rows, const std::vector<std::string>& keys);

/// The keys from which lr_settings is made.
std::vector<std::string> lr_keys();
/// The LR schedule of a configuration, which ends with the training unless lr_scheduler.total_steps says otherwise.
ckpt::LrSettings lr_settings(const Config& config);

}  // namespace titan::recipe
