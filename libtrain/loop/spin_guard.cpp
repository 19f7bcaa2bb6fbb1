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

std::optional<std::string> environment(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? std::nullopt : std::optional<std::string>(value);
}

}  // namespace

SpinGuard::SpinGuard() : watches_(omp_get_max_threads() > 1 && !user_has_chosen(environment)), last_(Clock::now()), waited_ns_(waited_for_cores()) {
  if (watches_) hold(true);  // a start beside other work would otherwise take several times as long
}

SpinGuard::~SpinGuard() { hold(false); }

void SpinGuard::look() {
  constexpr auto kEvery = std::chrono::milliseconds(100);  // each look reads a small file of every thread
  if (!watches_ || Clock::now() - last_ < kEvery) return;
  const std::uint64_t waited = waited_for_cores();
  const double wall_ns = std::chrono::duration<double, std::nano>(Clock::now() - last_).count();
  const double share = waited < waited_ns_ ? 0 : static_cast<double>(waited - waited_ns_) / wall_ns;
  last_ = Clock::now();
  waited_ns_ = waited;
  const bool sleeps = holder_.joinable();
  if (should_sleep(share, sleeps) == sleeps) return;
  log_debug(sleeps ? "the cores are free: waiting threads spin" : "other work is on these cores: waiting threads sleep at once");
  hold(!sleeps);
}

bool SpinGuard::should_sleep(double waited_share, bool sleeps) { return waited_share > (sleeps ? 0.05 : 0.10); }

bool SpinGuard::user_has_chosen(const GetEnv& get) {
  return get("OMP_WAIT_POLICY") || get("GOMP_SPINCOUNT") || get("KMP_BLOCKTIME");
}

void SpinGuard::hold(bool on) {
  if (on && !holder_.joinable()) {
    released_ = false;
    holder_ = std::thread([this] {
      // One more than there are cores, asleep.
#pragma omp parallel num_threads(omp_get_num_procs() + 1)
      released_.wait(false);
    });
  } else if (!on && holder_.joinable()) {
    released_ = true;
    released_.notify_all();
    holder_.join();
  }
}

}  // namespace titan::train
