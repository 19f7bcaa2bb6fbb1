#pragma once
// What the kernel says of a process of this host: whether another one is there, and what this one may take.
#include <sys/types.h>

#include <cstdint>
#include <optional>
#include <string>

#include "ckpt/base/status.h"

namespace titan::train {

/// Whether `pid` was stopped by a signal.
bool is_stopped(pid_t pid);
/// Whether `pid` has ended, reaped or not. For processes that share /proc and its numbers with this one, and that are
/// asked about before their number can be another's.
bool has_ended(pid_t pid);

/// How many processes the kernel has killed for want of memory since it started; nothing where it does not say.
std::optional<unsigned long long> memory_kills();
/// Who may have sent a SIGKILL since `before`, what memory_kills() was: the sender is not known, but the kernel counts
/// those that it sends for want of memory.
std::string sigkill_hint(std::optional<unsigned long long> before);

/// Files, sockets and event descriptors of one rank, with room for the files of a save.
inline constexpr std::uint64_t kLeastOpenFiles = 64;

/// Refuses a limit of open files with which ranks could not connect; one that is too low would show later as a
/// time-out. \error kFailed
ckpt::Status check_open_files(std::uint64_t limit);
/// check_open_files() with the limit of this process.
ckpt::Status check_process_limits();

}  // namespace titan::train
