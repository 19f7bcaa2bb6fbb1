#pragma once
// Where tools may write.
#include <string>

#include "ckpt/base/fs.h"

namespace titan::ckpt {

/// Checks that `path`, which need not be there, lies in no published checkpoint, at any depth. \error kInvalid naming the checkpoint
Status check_outside_checkpoints(Fs& fs, const std::string& path);

}  // namespace titan::ckpt
