#pragma once
// Keeps OpenMP threads that wait from taking cores from the threads that they wait for.
#include <atomic>
#include <chrono>
#include <cstdint>
#include <thread>

#include "libtrain/job/launch/launch_env.h"

namespace titan::train {

/// Waiting threads of libgomp (GCC's OpenMP) spin for milliseconds before they sleep. That is the fastest way to wait
/// if each thread has its own core (sleeping costs tens of percent in small models), and by far the slowest if cores
/// are shared; docs/performance.md has figures. The guard measures how long threads are runnable without a core. At the
/// start the guard makes waiting threads sleep at once; it lets them spin if cores turn out to be free. To make them
/// sleep, the guard creates idle OpenMP threads: in a process with more threads than cores, libgomp hardly spins (its
/// manual, GOMP_SPINCOUNT). Results do not change.
class SpinGuard {
 public:
  SpinGuard();
  ~SpinGuard();
  SpinGuard(const SpinGuard&) = delete;
  SpinGuard& operator=(const SpinGuard&) = delete;

  /// Measures, and switches between spinning and sleeping if needed, at most every 100 ms. Call it after every step.
  void update();

  /// Whether waiting threads should sleep at once. `waited_share` is the time that all threads together waited for a
  /// core, divided by the elapsed time; `sleeps` is whether waiting threads sleep at present.
  static bool should_sleep(double waited_share, bool sleeps);
  /// Whether the user has set how threads wait (OMP_WAIT_POLICY, GOMP_SPINCOUNT, KMP_BLOCKTIME). The guard then does
  /// nothing.
  static bool user_has_chosen(const GetEnv& get);
  /// Makes waiting threads sleep at once (`on`), or spin again.
  void hold(bool on);

 private:
  bool watches_ = false;
  std::chrono::steady_clock::time_point last_;
  std::uint64_t waited_ns_ = 0;
  std::atomic<bool> released_{true};  // ends the idle threads
  std::thread holder_;                // starts the idle threads; not joinable if there are none
};

}  // namespace titan::train
