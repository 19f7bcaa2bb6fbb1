#pragma once
// Keeps libgomp's waiting threads from spinning away the time of the threads that they wait for.
#include <atomic>
#include <chrono>
#include <cstdint>
#include <thread>

#include "libtrain/job/launch/launch_env.h"

namespace titan::train {

/// libgomp's threads spin for milliseconds before they sleep: on cores of their own that is the fastest way to wait
/// (sleeping instead costs tens of percent in small models), beside other work the slowest by far; docs/performance.md
/// has figures. Which of the two holds is seen while a run computes: in the time that its threads are ready and have no
/// core. A run begins with threads that sleep at once, and spins where the cores prove free. To make them sleep it
/// holds idle threads: a process with more OpenMP threads than cores hardly spins, as libgomp's manual says of
/// GOMP_SPINCOUNT. What is computed does not change.
class SpinGuard {
 public:
  SpinGuard();
  ~SpinGuard();
  SpinGuard(const SpinGuard&) = delete;
  SpinGuard& operator=(const SpinGuard&) = delete;

  /// Call it after every step: looks a few times a second.
  void look();

  /// Whether waiting threads should sleep at once when threads without a core have waited this share of the time, all
  /// together.
  static bool should_sleep(double waited_share, bool sleeps);
  /// A user who has said how threads wait (OMP_WAIT_POLICY, GOMP_SPINCOUNT, KMP_BLOCKTIME) is not overruled.
  static bool user_has_chosen(const GetEnv& get);
  /// Makes waiting threads sleep at once, or no longer.
  void hold(bool on);

 private:
  bool watches_ = false;
  std::chrono::steady_clock::time_point last_;
  std::uint64_t waited_ns_ = 0;
  std::atomic<bool> released_{true};
  std::thread holder_;
};

}  // namespace titan::train
