#pragma once
// Runs independent tasks on several threads.
#include <cstddef>
#include <functional>

#include "ckpt/base/status.h"

namespace titan::ckpt {

/// The number of threads for work that waits for the disk as well as for cores: `wanted` if it is not 0. For 0: one per
/// core, but at least 4 (a disk needs several reads at a time) and at most 16.
unsigned io_threads(unsigned wanted);

/// Calls `work(i)` for every i below `count`, in order of i as threads become free. Uses `threads` threads including
/// the caller's, or fewer if the system cannot start them all. After a failure (an exception counts as one) no further
/// index is started. Returns the failure of the lowest index that failed.
Status parallel_for(std::size_t count, unsigned threads, const std::function<Status(std::size_t)>& work);

}  // namespace titan::ckpt
