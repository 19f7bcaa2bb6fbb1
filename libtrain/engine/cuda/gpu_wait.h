#pragma once
// How the host waits for its GPU, and meanwhile notices dead peers and stuck transfers. Part of libtitan_cuda.so.
#include <chrono>
#include <functional>
#include <string>

#include <ATen/cuda/CUDAEvent.h>

namespace titan::train {

/// Functions that the host calls every 0.5 s while it waits. They do not block.
struct WaitRules {
  std::function<void()> check_peers;  ///< throws if a peer has died, since the GPU would wait for it forever
  std::function<std::chrono::milliseconds()> patience;  ///< maximum time without any completed transfer
};
/// Sets the rules of all waits. Call it before the first wait.
void set_wait_rules(WaitRules rules);

/// Records that the current stream waits for a transfer of `group`. The transfer counts as complete once the stream has
/// passed this point. Until then a host that waits calls `check` every 0.5 s; `check` must throw if the transfer has
/// failed.
void note_transfer(const std::string& group, std::function<void()> check);

/// Returns when the GPU has reached `event`. Any thread. Polls without pause for `spin`, then every 50 us. Polling
/// takes a lock that kernel launches need, so a caller that is not in a hurry passes a short `spin`. \error what
/// WaitRules::check_peers or the `check` of a transfer throws; CommError if no transfer has completed within
/// WaitRules::patience; CUDA's errors
void wait_for_event(const at::cuda::CUDAEvent& event, std::chrono::microseconds spin = std::chrono::milliseconds(2));

/// Returns when the GPU has completed all work launched on the current stream so far. \error as wait_for_event()
void wait_for_gpu();

}  // namespace titan::train
