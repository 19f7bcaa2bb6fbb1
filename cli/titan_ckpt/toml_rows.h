#pragma once
// A TOML file as rows: dotted key, TOML text of the value. toml++ stays in the .cpp.
#include <string>

#include "ckpt/base/fs.h"
#include "ckpt/model/settings.h"

namespace titan::cli {

/// Reads `path`; rows ascend by key. Arrays and dates are rows, too; empty tables are not. \error kInvalid: no such
/// file, not TOML
/// ("path:line:column: ...")
ckpt::Result<ckpt::Settings> read_toml_rows(ckpt::Fs& fs, const std::string& path);
/// "section.key=VALUE" as a row: VALUE is TOML, or a plain word that stands for a string. \error kInvalid
ckpt::Result<ckpt::Settings::value_type> parse_row(const std::string& text);

}  // namespace titan::cli
