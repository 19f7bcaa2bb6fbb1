#pragma once
// Does a store do what the commit protocol builds on?
#include <string>

#include "ckpt/base/fs.h"

namespace titan::ckpt {

/// Tries the store below `dir`: exclusive create, sparse positioned write, folder rename, folder sync. \error kFailed
/// naming what the store cannot do.
Status probe_store(Fs& fs, const std::string& dir);

}  // namespace titan::ckpt
