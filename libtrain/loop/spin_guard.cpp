#include "libtrain/loop/spin_guard.h"

#include <omp.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <system_error>

#include "libtrain/metrics/log.h"

namespace titan::train {
namespace {

using Clock = std::chrono::steady_clock;

/// Nanoseconds that the threads of this process were ready to run and had no core; 0 where the kernel does not count them.
std::uint64_t waited_for_cores() {
  std::uint64_t sum = 0;
  std::error_code error;
  for (std::filesystem::directory_iterator task("/proc/self/task", error), end; !error && task != end; task.increment(error)) {
    std::ifstream file(task->path() / "schedstat");
    std::uint64_t ran = 0, waited = 0;
    if (file >> ran >> waited) sum += waited;
  }
  return sum;
}

bool user_has_chosen() {
  for (const char* name : {"OMP_WAIT_POLICY", "GOMP_SPINCOUNT", "KMP_BLOCKTIME"})
    if (std::getenv(name) != nullptr) return true;
  return false;
}

}  // namespace

SpinGuard::SpinGuard() : watches_(omp_get_max_threads() > 1 && !user_has_chosen()), last_(Clock::now()), waited_ns_(waited_for_cores()) {}

SpinGuard::~SpinGuard() { hold(false); }

void SpinGuard::look() {
  constexpr auto kEvery = std::chrono::milliseconds(100);
  if (!watches_ || Clock::now() - last_ < kEvery) return;
  const std::uint64_t waited = waited_for_cores();
  const double wall_ns = std::chrono::duration<double, std::nano>(Clock::now() - last_).count();
  const double share = waited < waited_ns_ ? 0 : static_cast<double>(waited - waited_ns_) / wall_ns;
  last_ = Clock::now();
  waited_ns_ = waited;
  if (share > 0.10 && !holder_.joinable()) hold(true);
  if (share < 0.02 && holder_.joinable()) hold(false);
}

void SpinGuard::hold(bool on) {
  if (on) {
    released_ = false;
    holder_ = std::thread([this] {
      // One more than there are cores, asleep.
#pragma omp parallel num_threads(omp_get_num_procs() + 1)
      released_.wait(false);
    });
    log_debug("other work is on these cores: waiting threads sleep at once");
  } else if (holder_.joinable()) {
    released_ = true;
    released_.notify_all();
    holder_.join();
    log_debug("the cores are free: waiting threads spin");
  }
}

}  // namespace titan::train
