#pragma once
// Opens a file below a folder without following a link on the way: see Fs::open_member.
#include <string>

#include "ckpt/base/result.h"

namespace titan::ckpt {

/// How the path from folder to member is resolved: with one kernel call where available, or always name by name.
enum class Walk { kKernel, kByName };

/// Returns a descriptor (close-on-exec) of `member` below `folder`. `flags` are those of open(2): O_PATH or O_RDONLY,
/// and flags that combine with it. \error kNotFound, kCorrupt (a link, or a name that leads outside), kMediaError,
/// kFailed
Result<int> open_member_file(const std::string& folder, const std::string& member, int flags, Walk walk);

}  // namespace titan::ckpt
