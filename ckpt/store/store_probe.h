#pragma once
// Tests whether a store supports the operations of the commit protocol.
#include <string>

#include "ckpt/base/status.h"

namespace titan::ckpt {

class Fs;

/// Tries in temporary folders below `dir`: exclusive create, sparse positioned write, folder rename that must not
/// replace, sync of files and folders, removal. \error kFailed, which names what the store cannot do
Status probe_store(Fs& fs, const std::string& dir);

}  // namespace titan::ckpt
