#pragma once
// The note in a lock file: a JSON object that names the holder. \source FORMAT.md, "The lock of a run"
#include <cstdint>
#include <string>
#include <string_view>

#include "ckpt/base/result.h"

namespace titan::ckpt {

/// The content of a note.
struct LockOwner {
  std::string host, boot_id, job_id;  ///< boot_id: of the kernel; job_id: as this_process() sets it
  std::uint64_t pid = 0;
  std::uint32_t restart_count = 0;
  std::string since;      ///< when the process started to take the lock, RFC 3339 UTC
  double heartbeat = 0;   ///< seconds since 1970-01-01 UTC by the holder's clock; 0: the holder has ended
  std::string mark = {};  ///< random, new each time a lock is taken; empty in notes of older versions
  bool operator==(const LockOwner&) const = default;
};

inline constexpr double kSilenceSeconds = 25;  ///< a holder whose note does not change for this long counts as dead
inline constexpr std::uint64_t kMostNoteBytes = 16 * 1024;     ///< a longer file is no note
inline constexpr std::string_view kLockPrefix = "{\"host\":";  ///< the first bytes of every note

/// Whether the processes of the notes `a` and `b` run on one kernel, which then decides which of them gets an advisory
/// lock. Compares boot ids, or host names if one of the notes has no boot id.
bool same_kernel(const LockOwner& a, const LockOwner& b);

/// The text of the note, padded to a multiple of 1,024 bytes, so that all notes have the same size in practice. If two
/// processes write at the same time, one of the two notes remains, not a mixture.
std::string encode_lock_owner(const LockOwner& owner);
/// Decodes a note. Ignores text after the JSON object: after an interrupted write that text may be the end of an older
/// note.
/// \error kCorrupt: no JSON object, or one of its keys is missing (only "mark" may be)
Result<LockOwner> decode_lock_owner(const std::string& text);

/// Whether the process of the note `holder` may be alive. Takes no lock.
/// - Heartbeat 0: no, it has ended.
/// - On this host (the same kernel and host name): its process must exist, and must have started before its heartbeat.
/// - Elsewhere: its heartbeat must be younger than kSilenceSeconds by this host's clock.
/// `self`: a note of this process; `now`: seconds since 1970-01-01 UTC.
bool may_live(const LockOwner& holder, const LockOwner& self, double now);

/// "process 42 on host a since T, job J, restart 1"; without a job id, it ends after T.
std::string describe(const LockOwner& owner);

/// A note for this process, with the present time as `since` and `heartbeat`. The job id is that of Slurm or torchrun,
/// if the environment has one.
LockOwner this_process();

}  // namespace titan::ckpt
