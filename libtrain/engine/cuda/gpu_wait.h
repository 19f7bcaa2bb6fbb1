#pragma once
// How the host waits for its GPU. Part of libtitan_cuda.so.
#include <chrono>
#include <functional>
#include <string>

#include <ATen/cuda/CUDAEvent.h>

namespace titan::train {

/// What a wait looks at twice a second. Both throw or return at once.
struct WaitRules {
  std::function<void()> look;  ///< throws where a peer is gone, for whom the GPU would wait for ever
  std::function<std::chrono::milliseconds()> patience;  ///< how long no transfer need come to its end
};
/// Before any wait.
void set_wait_rules(WaitRules rules);

/// The run's current stream waits for a transfer of `group`: when it has come to here, the transfer is over. `look`
/// throws where it has failed.
void note_transfer(const std::string& group, std::function<void()> look);

/// Returns when the GPU has come to `event`. Any thread. \error what the look throws, CommError where no
/// transfer has ended within the patience, and CUDA's own errors
void wait_for_event(const at::cuda::CUDAEvent& event);

/// Returns when the GPU has done what the current stream was given so far.
void wait_for_gpu();

}  // namespace titan::train
