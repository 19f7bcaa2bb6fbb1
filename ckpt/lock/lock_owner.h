#pragma once
// The note in a lock file: who holds it. \source FORMAT.md, "The lock of a run"
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
  double heartbeat = 0;   ///< seconds since the epoch by the holder's clock; 0: ended
  std::string mark = {};  ///< random, one for each time a lock is taken; "" in notes of older versions
  bool operator==(const LockOwner&) const = default;
};

inline constexpr double kSilenceSeconds = 25;  ///< a note that stays the same for so long is a dead holder's
inline constexpr std::string_view kLockPrefix = "{\"host\":";  ///< the first bytes of what encode_lock_owner() makes

/// One kernel decides about advisory locks of both: the boot ids say so, or the host names where one has no boot id.
bool same_kernel(const LockOwner& a, const LockOwner& b);

/// Padded to a multiple of 1,024 bytes, so that two writers at once leave one of the two notes and no mixture.
std::string encode_lock_owner(const LockOwner& owner);
/// \error kCorrupt. Text after the value is ignored: a write cut short may leave an old tail.
Result<LockOwner> decode_lock_owner(const std::string& text);

/// Whether the holder that left this note may live, judged without its lock: on this host by its process, elsewhere by
/// its last heartbeat. `now`: seconds since the epoch.
bool may_live(const LockOwner& holder, const LockOwner& self, double now);

/// "process 42 on host a since T, job J, restart 1".
std::string describe(const LockOwner& owner);

/// This process on this host, now. The job is Slurm's or torchrun's, where the environment has one.
LockOwner this_process();

}  // namespace titan::ckpt
