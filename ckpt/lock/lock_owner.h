#pragma once
// The note in a lock file that names the holder. \source FORMAT.md, "The lock of a run"
#include <cstdint>
#include <string>
#include <string_view>

#include "ckpt/base/result.h"

namespace titan::ckpt {

struct LockOwner {
  std::string host, boot_id, job_id;
  std::uint64_t pid = 0;
  std::uint32_t restart_count = 0;
  std::string since;      ///< RFC 3339 UTC
  double heartbeat = 0;   ///< seconds since 1970-01-01 UTC by the holder's clock; 0: the holder has ended
  std::string mark = {};  ///< random, new for each lock taken; empty in notes of older versions
  bool operator==(const LockOwner&) const = default;
};

inline constexpr double kSilenceSeconds = 25;  ///< a holder whose note has not changed for this long is dead
inline constexpr std::string_view kLockPrefix = "{\"host\":";  ///< the first bytes of a note of encode_lock_owner()

/// Whether both processes run on one kernel, which then arbitrates their advisory locks: judged by boot ids, or by host
/// names if one has no boot id.
bool same_kernel(const LockOwner& a, const LockOwner& b);

/// The note, padded to a multiple of 1,024 bytes, so that two simultaneous writers leave one of the two notes and not a
/// mixture.
std::string encode_lock_owner(const LockOwner& owner);
/// Decodes a note. Ignores text after the JSON value, since an interrupted write may leave the end of an old note.
/// \error kCorrupt
Result<LockOwner> decode_lock_owner(const std::string& text);

/// Whether the holder named in this note may be alive, judged without taking its lock: by its process if it ran on this
/// host, else by its last heartbeat. `now`: seconds since the epoch.
bool may_live(const LockOwner& holder, const LockOwner& self, double now);

/// "process 42 on host a since T, job J, restart 1".
std::string describe(const LockOwner& owner);

/// A note for this process, with the present time. The job id is Slurm's or torchrun's, if the environment has one.
LockOwner this_process();

}  // namespace titan::ckpt
