#pragma once
// flock for local and network stores.
#include <string>

#include "ckpt/base/fs.h"
#include "ckpt/base/result.h"

namespace titan::ckpt {

/// Takes the exclusive lock of the open file `fd` without waiting. Returns kNone if the store has no such locks.
/// \error kLocked (held by another process), kFailed
Result<LockReach> take_flock(int fd, const std::string& path);

/// Flushes what was written through `fd` to the server of a network store. Costs nothing on a local store.
Status send_written(int fd, const std::string& path);

}  // namespace titan::ckpt
