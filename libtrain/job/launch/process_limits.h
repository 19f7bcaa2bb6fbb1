#pragma once
// The limits of this process, checked before ranks start. A limit that is too low would show later as a time-out.
#include <cstdint>

#include "ckpt/base/status.h"

namespace titan::train {

/// Files, sockets and event descriptors of one rank, with room for the files of a save.
inline constexpr std::uint64_t kLeastOpenFiles = 64;

/// Refuses a limit of open files with which ranks could not connect. \error kFailed
ckpt::Status check_open_files(std::uint64_t limit);
/// check_open_files() with the limit of this process.
ckpt::Status check_process_limits();

}  // namespace titan::train
