#pragma once
// Error messages for failed system calls on files.
#include <cstdint>
#include <optional>
#include <string>

#include "ckpt/base/status.h"

namespace titan::ckpt {

/// Free space of a file system: free bytes, and the numbers of all and of free inodes. `inodes` is 0 if the file system
/// has no inode limit.
struct SpaceLeft {
  std::uint64_t bytes = 0, inodes = 0, inodes_free = 0;
};
/// The Status of a write that failed because the disk or the quota is full. `left` is empty if it is not known.
Status full_status(int error, const std::string& path, const std::string& call, const std::optional<SpaceLeft>& left);

/// The Status for the errno `error` of `call` on `path`. For a full disk or quota it states the free space.
Status errno_status(int error, const std::string& path, const std::string& call);
/// As errno_status(), for a call that reads: kMediaError for EIO and ENODATA (the store failed to return stored bytes).
Status read_errno_status(int error, const std::string& path, const std::string& call);

}  // namespace titan::ckpt
