#pragma once
// What the kernel says of another process of this host.
#include <sys/types.h>

namespace titan::train {

/// Whether `pid` was stopped by a signal.
bool is_stopped(pid_t pid);
/// Whether `pid` has ended, reaped or not. For processes that share /proc and its numbers with this one, and that are
/// asked about before their number can be another's.
bool has_ended(pid_t pid);

}  // namespace titan::train
