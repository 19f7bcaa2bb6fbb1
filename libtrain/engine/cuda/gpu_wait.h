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

/// Says that the run's current stream waits for a transfer of `group`: once the stream has passed this point, the
/// transfer is over. Waits of the host call `look`, which throws if the transfer has failed.
void note_transfer(const std::string& group, std::function<void()> look);

/// Returns when the GPU has come to `event`. Any thread. \error what the look throws, CommError where no
/// transfer has ended within the patience, and CUDA's own errors. Asking takes a lock that launches need: who can wait
/// asks in a hurry for a short `spin` only.
void wait_for_event(const at::cuda::CUDAEvent& event, std::chrono::microseconds spin = std::chrono::milliseconds(2));

/// Returns when the GPU has done what the current stream was given so far.
void wait_for_gpu();

}  // namespace titan::train
