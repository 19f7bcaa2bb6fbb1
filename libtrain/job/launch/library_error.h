#pragma once
// What LibTorch, c10d, NCCL and CUDA say when they throw: lines, behind which LibTorch writes the stack of the call.
#include <string>

#include "ckpt/base/status.h"

namespace titan::train {

std::string first_line(const std::string& what);
/// The lines before the stack.
std::string without_stack(const std::string& what);
/// `before` and the first line as the message, the others as causes. \error Code::kFailed
ckpt::Status library_failure(const std::string& before, const std::string& what);

}  // namespace titan::train
