#pragma once
// What a failed system call on a file means, in words.
#include <cstdint>
#include <optional>
#include <string>

#include "ckpt/base/status.h"

namespace titan::ckpt {

/// What a file system has left. `inodes` is 0 if the file system has no limit of inodes.
struct SpaceLeft {
  std::uint64_t bytes = 0, inodes = 0, inodes_free = 0;
};
/// Returns the Status of a write that failed because the disk or the quota is full; `left` is given if it is known.
Status full_status(int error, const std::string& path, const std::string& call, const std::optional<SpaceLeft>& left);

/// Returns the Status for `error` (an errno value) of `call` on `path`; a full disk or quota says how much is free.
Status errno_status(int error, const std::string& path, const std::string& call);
/// As errno_status(), for a call that reads: kMediaError for EIO and ENODATA (the store failed to return stored bytes).
Status read_errno_status(int error, const std::string& path, const std::string& call);

}  // namespace titan::ckpt
