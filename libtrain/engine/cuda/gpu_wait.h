#pragma once
// How the host waits for its GPU. Part of libtitan_cuda.so.
#include <chrono>
#include <functional>
#include <string>

#include <ATen/cuda/CUDAEvent.h>

namespace titan::train {

/// Functions that a wait calls twice a second. Each returns at once or throws.
struct WaitRules {
  std::function<void()> look;  ///< throws if a peer has died, for which the GPU would wait forever
  std::function<std::chrono::milliseconds()> patience;  ///< maximum time without any completed transfer
};
/// Call it before any wait.
void set_wait_rules(WaitRules rules);

/// Records that the run's current stream waits for a transfer of `group`; the transfer is complete once the stream has
/// passed this point. The host's waits call `look`, which throws if the transfer has failed.
void note_transfer(const std::string& group, std::function<void()> look);

/// Returns when the GPU has reached `event`. Any thread. \error what WaitRules::look throws; CommError if no transfer
/// has completed within the patience; CUDA's errors. `spin`: how long to poll without pause; polling takes a lock that
/// kernel launches need, so callers that are not in a hurry pass a short time.
void wait_for_event(const at::cuda::CUDAEvent& event, std::chrono::microseconds spin = std::chrono::milliseconds(2));

/// Returns when the GPU has completed all work launched on the current stream so far.
void wait_for_gpu();

}  // namespace titan::train
