#pragma once
// A TOML file as rows: dotted key, TOML text of the value. toml++ stays in the .cpp.
#include <string>

#include "ckpt/base/fs.h"
#include "ckpt/model/schedule.h"

namespace titan::cli {

/// Reads `path`; rows ascend by key. Arrays and dates are rows, too; empty tables are not. \error kInvalid: no such file, not TOML
/// ("path:line:column: ...")
ckpt::Result<ckpt::Settings> read_toml_rows(ckpt::Fs& fs, const std::string& path);

}  // namespace titan::cli
