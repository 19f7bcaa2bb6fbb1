#pragma once
// Error texts of LibTorch, c10d, NCCL and CUDA. They have several lines, after which LibTorch adds the call stack.
#include <string>

#include "ckpt/base/status.h"

namespace titan::train {

std::string first_line(const std::string& what);
/// The lines before the call stack.
std::string without_stack(const std::string& what);
/// An error (kFailed) with `before` and the first line of `what` as its message, and the further lines of
/// without_stack() as causes.
ckpt::Status library_failure(const std::string& before, const std::string& what);

}  // namespace titan::train
