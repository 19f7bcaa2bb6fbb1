#include "libtrain/cuda/gpu_wait.h"

#include <chrono>
#include <thread>
#include <utility>

#include <c10/cuda/CUDAStream.h>

namespace titan::train {
namespace {

std::function<void()>& chosen_look() {
  static std::function<void()> look = [] {};
  return look;
}

}  // namespace

void look_while_waiting(std::function<void()> look) { chosen_look() = std::move(look); }

void wait_for_event(const at::cuda::CUDAEvent& event) {
  using Clock = std::chrono::steady_clock;
  constexpr auto kBetweenLooks = std::chrono::milliseconds(500);
  constexpr auto kSpin = std::chrono::milliseconds(2);  // most waits are short, and a sleep would lengthen them
  constexpr auto kNap = std::chrono::microseconds(50);
  const auto began = Clock::now();
  auto looked = began;
  while (!event.query()) {
    const auto now = Clock::now();
    if (now - looked >= kBetweenLooks) {
      chosen_look()();
      looked = now;
    }
    if (now - began >= kSpin) std::this_thread::sleep_for(kNap);
  }
}

void wait_for_gpu() {
  at::cuda::CUDAEvent done;
  done.record(c10::cuda::getCurrentCUDAStream());
  wait_for_event(done);
}

}  // namespace titan::train
