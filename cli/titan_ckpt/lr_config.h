#pragma once
// The LR settings of a training configuration. titan-ckpt knows nothing of the trainer: it reads these keys and no
// others.
#include <string>

#include "ckpt/ops/lr_show.h"

namespace titan::cli {

/// Reads the TOML file `path`; a key that is not there has the trainer's default. Whether the rest is a configuration
/// is not checked. \error kInvalid (no such file, not TOML, a value of another type or out of range)
ckpt::Result<ckpt::LrConfig> read_lr_config(ckpt::Fs& fs, const std::string& path);

}  // namespace titan::cli
