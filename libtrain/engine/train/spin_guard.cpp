#include "libtrain/engine/train/spin_guard.h"

#include <omp.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <system_error>
#include <vector>

#include "ckpt/base/host.h"
#include "libtrain/job/metrics/log.h"

namespace titan::train {
namespace {

using Clock = std::chrono::steady_clock;

/// Nanoseconds that the threads of this process were runnable without a core; 0 if the kernel does not count them.
std::uint64_t waited_for_cores() {
  std::uint64_t sum = 0;
  std::error_code error;
  for (std::filesystem::directory_iterator task("/proc/self/task", error), end; !error && task != end;
       task.increment(error)) {
    std::ifstream file(task->path() / "schedstat");
    std::uint64_t ran = 0, waited = 0;
    if (file >> ran >> waited) sum += waited;
  }
  return sum;
}

/// Number of idle threads that, together with the computing threads, are more than the cores. If it is at most 1, there
/// are enough threads without them.
int idle_threads() { return omp_get_num_procs() - omp_get_max_threads() + 2; }

/// Whether the system can start that many threads. If libgomp cannot start a thread, it ends the process.
bool can_start(int threads) {
  std::vector<std::thread> tried;
  std::atomic<bool> enough{false};
  try {
    while (static_cast<int>(tried.size()) < threads) tried.emplace_back([&enough] { enough.wait(false); });
  } catch (const std::system_error&) {}
  enough = true;
  enough.notify_all();
  for (std::thread& thread : tried) thread.join();
  return static_cast<int>(tried.size()) == threads;
}

}  // namespace

SpinGuard::SpinGuard() : last_(Clock::now()), waited_ns_(waited_for_cores()) {
  constexpr int kMost = 32;  // if more cores are free, other work finds a free one, and no guard is needed
  const int idle = idle_threads();
  watches_ =
      omp_get_max_threads() > 1 && idle > 1 && idle <= kMost && !user_has_chosen(ckpt::environment) && can_start(idle);
  if (watches_) hold(true);  // if cores are shared, a start with spinning threads takes several times as long
}

SpinGuard::~SpinGuard() { hold(false); }

void SpinGuard::update() {
  constexpr auto kEvery = std::chrono::milliseconds(100);  // each look reads a small file of every thread
  if (!watches_ || Clock::now() - last_ < kEvery) return;
  const std::uint64_t waited = waited_for_cores();
  const double wall_ns = std::chrono::duration<double, std::nano>(Clock::now() - last_).count();
  const double share = waited < waited_ns_ ? 0 : static_cast<double>(waited - waited_ns_) / wall_ns;
  last_ = Clock::now();
  waited_ns_ = waited;
  const bool sleeps = holder_.joinable();
  if (should_sleep(share, sleeps) == sleeps) return;
  log_debug(sleeps ? "the cores are free: waiting threads spin"
                   : "other work is on these cores: waiting threads sleep at once");
  hold(!sleeps);
}

bool SpinGuard::should_sleep(double waited_share, bool sleeps) { return waited_share > (sleeps ? 0.05 : 0.10); }

bool SpinGuard::user_has_chosen(const GetEnv& get) {
  return get("OMP_WAIT_POLICY") || get("GOMP_SPINCOUNT") || get("KMP_BLOCKTIME");
}

void SpinGuard::hold(bool on) {
  if (on && !holder_.joinable()) {
    released_ = false;
    const int threads = std::max(2, idle_threads());
    holder_ = std::thread([this, threads] {
#pragma omp parallel num_threads(threads)
      released_.wait(false);
    });
  } else if (!on && holder_.joinable()) {
    released_ = true;
    released_.notify_all();
    holder_.join();
  }
}

}  // namespace titan::train
