#pragma once
// Keeps libgomp's waiting threads from spinning away the time of the threads that they wait for.
#include <atomic>
#include <chrono>
#include <cstdint>
#include <thread>

namespace titan::train {

/// libgomp's threads spin for milliseconds before they sleep: on cores of their own that is the fastest way to wait (sleeping instead
/// costs tens of percent in small models), beside other work the slowest by far. Which of the two holds is seen while a run computes: in
/// the time that its threads wait for a core. Where they do, this makes them sleep at once, by what libgomp promises for a process with
/// more OpenMP threads than cores: it holds idle ones. What is computed does not change.
class SpinGuard {
 public:
  SpinGuard();
  ~SpinGuard();
  SpinGuard(const SpinGuard&) = delete;
  SpinGuard& operator=(const SpinGuard&) = delete;

  /// Call it after every step: looks a few times a second.
  void look();

 private:
  void hold(bool on);

  bool watches_ = true;
  std::chrono::steady_clock::time_point last_;
  std::uint64_t waited_ns_ = 0;
  std::atomic<bool> released_{true};
  std::thread holder_;
};

}  // namespace titan::train
