#pragma once
// Facts from the kernel about processes of this host: whether another process runs, and the limits of this one.
#include <sys/types.h>

#include <cstdint>
#include <optional>
#include <string>

#include "ckpt/base/status.h"

namespace titan::train {

/// Whether `pid` was stopped by a signal.
bool is_stopped(pid_t pid);
/// Whether `pid` runs no code of its own any more: it has ended, reaped or not, or the kernel is ending it. A killed
/// process that waits for a busy core, or whose memory is being freed, has not ended for its parent yet. `pid` must be
/// in this process's /proc and PID namespace, and must not have been reused.
bool has_ended(pid_t pid);

/// Number of processes killed by the kernel's OOM killer since boot; nullopt if not known.
std::optional<unsigned long long> memory_kills();
/// A hint about who may have sent a SIGKILL. `before` is an earlier value of memory_kills(): the sender of a signal is
/// not known, but the kernel counts OOM kills.
std::string sigkill_hint(std::optional<unsigned long long> before);

/// Minimum number of file descriptors for a rank: files, sockets, events and the files of a save.
inline constexpr std::uint64_t kLeastOpenFiles = 64;

/// Refuses a limit of open files that is too low for ranks to connect, which would otherwise show as a timeout.
/// \error kFailed
ckpt::Status check_open_files(std::uint64_t limit);
/// check_open_files() with the limit of this process.
ckpt::Status check_process_limits();

}  // namespace titan::train
