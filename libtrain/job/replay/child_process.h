#pragma once
// A program that this process runs and waits for.
#include <string>
#include <vector>

#include "ckpt/base/cancel.h"
#include "ckpt/base/result.h"

namespace titan::train {

/// Runs `program` with `words` (the first is its name), what it prints in the file `output`, in a process group of its
/// own and without what would make it a rank. It gets SIGTERM when a stop is asked for or this process dies, and is
/// waited for in any case. Returns its exit code, or 128 + the signal that ended it. Call it from a thread that lives
/// as long. \error kFailed: it cannot be started
ckpt::Result<int> run_and_wait(const std::string& program, const std::vector<std::string>& words,
                               const std::string& output, const ckpt::CancelToken& cancel);

}  // namespace titan::train
