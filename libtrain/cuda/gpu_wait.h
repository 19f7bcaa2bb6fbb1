#pragma once
// The one place where the host waits for its GPU. Part of libtitan_cuda.so.
#include <functional>

namespace titan::train {

/// Returns when the GPU has done what the current stream was given so far. `look` is called twice a second meanwhile;
/// it throws where a peer is gone, for whom the GPU would wait for ever. \error what `look` throws; CommError: CUDA's
/// own errors
void wait_for_gpu(const std::function<void()>& look);

}  // namespace titan::train
