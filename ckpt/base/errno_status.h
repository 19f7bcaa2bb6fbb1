#pragma once
// What a failed system call on a file means, in words.
#include <cstdint>
#include <optional>
#include <string>

#include "ckpt/base/status.h"

namespace titan::ckpt {

/// What a file system has left. `inodes` is 0 where it has no limit of them.
struct SpaceLeft {
  std::uint64_t bytes = 0, inodes = 0, inodes_free = 0;
};
/// Returns the Status for a write that found the disk (`left` given where it is known) or the quota full.
Status full_status(int error, const std::string& path, const std::string& call, const std::optional<SpaceLeft>& left);

/// Returns the Status for `error` (an errno value) of `call` on `path`; a full disk or quota says how much is free.
Status errno_status(int error, const std::string& path, const std::string& call);
/// The same for a call that reads: kMediaError where the store says that it cannot give back what it holds.
Status read_errno_status(int error, const std::string& path, const std::string& call);

}  // namespace titan::ckpt
