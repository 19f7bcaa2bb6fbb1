#pragma once
// Independent pieces of work on a few threads.
#include <cstddef>
#include <functional>

#include "ckpt/base/status.h"

namespace titan::ckpt {

/// Threads for work that waits for a disk as much as for a core: `wanted`, or when that is 0 one per core, 4 at least
/// (a disk needs several reads under way), 16 at most.
unsigned io_threads(unsigned wanted);

/// Calls `work(i)` for every i below `count`, each once, in order of i as threads become free; `threads` 1 uses the
/// caller's, and so does the rest where the system has no more of them. After a failure, which an exception is too, no
/// further index is begun. Returns the failure of the lowest index that failed.
Status parallel_for(std::size_t count, unsigned threads, const std::function<Status(std::size_t)>& work);

}  // namespace titan::ckpt
