#pragma once
// What the kernel tells about processes of this host: whether another one runs, and which limits this one has.
#include <sys/types.h>

#include <cstdint>
#include <optional>
#include <string>

#include "ckpt/base/status.h"

namespace titan::train {

/// Whether `pid` was stopped by a signal.
bool is_stopped(pid_t pid);
/// Whether `pid` has ended, reaped or not. `pid` must be in this process's /proc and PID namespace, and must not have
/// been reused.
bool has_ended(pid_t pid);

/// How many processes the kernel has killed for lack of memory since it started; nothing if it does not tell.
std::optional<unsigned long long> memory_kills();
/// A hint who may have sent a SIGKILL. `before` is an earlier value of memory_kills(). The sender of a signal is not
/// known, but the kernel counts the kills for lack of memory.
std::string sigkill_hint(std::optional<unsigned long long> before);

/// The least number of descriptors that a rank needs for files, sockets and events, with room for the files of a save.
inline constexpr std::uint64_t kLeastOpenFiles = 64;

/// Refuses a limit of open files with which ranks could not connect, which would show later as a time-out. \error
/// kFailed
ckpt::Status check_open_files(std::uint64_t limit);
/// check_open_files() with the limit of this process.
ckpt::Status check_process_limits();

}  // namespace titan::train
