#include "ckpt/base/parallel.h"

#include <algorithm>
#include <thread>

#include "ckpt/base/helpers.h"
#include "ckpt/base/mutex.h"

namespace titan::ckpt {

unsigned io_threads(unsigned wanted) {
  return wanted > 0 ? wanted : std::clamp(std::thread::hardware_concurrency(), 4u, 16u);
}

Status parallel_for(std::size_t count, unsigned threads, const std::function<Status(std::size_t)>& work) {
  Mutex mutex;
  std::size_t next = 0, failed_at = count;
  Status failure;
  const auto worker = [&] {
    while (true) {
      std::size_t index = 0;
      {
        const MutexLock lock(mutex);
        if (next == count || !failure.ok()) return;
        index = next++;
      }
      Status status = contained([&] { return work(index); });
      if (status.ok()) continue;
      const MutexLock lock(mutex);
      if (index >= failed_at) continue;
      failed_at = index;
      failure = std::move(status);
    }
  };
  Helpers others;
  for (std::size_t i = 1; i < std::min<std::size_t>(threads, count) && others.start(worker); ++i) {}
  worker();
  others.join();
  return failure;
}

}  // namespace titan::ckpt
