#pragma once
// Opens a file beneath a folder without following a link on the way: see Fs::open_member.
#include <string>

#include "ckpt/base/result.h"

namespace titan::ckpt {

/// How the names between folder and member are walked: by one call of the kernel where it has it, or one by one,
/// always.
enum class Walk { kKernel, kByName };

/// Returns a descriptor (close-on-exec) of `member` beneath `folder`, opened with `flags` (O_PATH or O_RDONLY, with
/// what belongs to them). \error kNotFound, kCorrupt (a link, or a name that leads outside), kMediaError, kFailed
Result<int> open_member_file(const std::string& folder, const std::string& member, int flags, Walk walk);

}  // namespace titan::ckpt
