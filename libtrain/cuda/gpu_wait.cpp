#include "libtrain/cuda/gpu_wait.h"

#include <chrono>
#include <thread>

#include <ATen/cuda/CUDAEvent.h>
#include <c10/cuda/CUDAStream.h>

namespace titan::train {

void wait_for_gpu(const std::function<void()>& look) {
  using Clock = std::chrono::steady_clock;
  constexpr auto kBetweenLooks = std::chrono::milliseconds(500);
  constexpr auto kSpin = std::chrono::milliseconds(2);  // most waits are short, and a sleep would lengthen them
  constexpr auto kNap = std::chrono::microseconds(50);
  at::cuda::CUDAEvent done;
  done.record(c10::cuda::getCurrentCUDAStream());
  const auto began = Clock::now();
  auto looked = began;
  while (!done.query()) {
    const auto now = Clock::now();
    if (now - looked >= kBetweenLooks) {
      look();
      looked = now;
    }
    if (now - began >= kSpin) std::this_thread::sleep_for(kNap);
  }
}

}  // namespace titan::train
