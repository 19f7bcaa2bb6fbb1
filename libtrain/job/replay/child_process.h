#pragma once
// Runs another program and waits for it.
#include <string>
#include <vector>

#include "ckpt/base/cancel.h"
#include "ckpt/base/result.h"

namespace titan::train {

/// Runs `program` with arguments `words` (the first is its name), in its own process group and without variables that
/// would make it a rank. Its output goes to the file `output`. The program gets SIGTERM when a stop is asked for or
/// this process dies, and is always waited for. Returns its exit code, or 128 + the signal that ended it. The calling
/// thread must live as long as the program. \error kFailed: the program cannot be started
ckpt::Result<int> run_and_wait(const std::string& program, const std::vector<std::string>& words,
                               const std::string& output, const ckpt::CancelToken& cancel);

}  // namespace titan::train
