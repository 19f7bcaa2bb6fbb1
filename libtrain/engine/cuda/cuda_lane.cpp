#include "libtrain/engine/cuda/cuda_lane.h"

#include <exception>
#include <utility>

#include <c10/cuda/CUDAGuard.h>

namespace titan::train {

// The high-priority stream pool is reserved for NCCL's groups.
CudaLane::CudaLane(at::Device device)
    : device_(device), stream_(c10::cuda::getStreamFromPool(/*isHighPriority=*/false, device.index())) {}

CudaLane::~CudaLane() {
  try {
    wait(given_);
  } catch (const std::exception&) {  // CUDA reports the error again at the next wait for the GPU
  }
}

// give() orders the lane's next work after all work of the run's stream, and wait() orders the run's next work after
// the lane's. So neither stream reuses memory that the other still uses.
void CudaLane::give(Work work) {
  const c10::cuda::CUDAGuard here(device_);
  at::cuda::CUDAEvent before;
  before.record(c10::cuda::getCurrentCUDAStream());
  before.block(stream_);
  Begun begun{{}, std::move(work)};
  {
    const c10::cuda::CUDAStreamGuard of_lane(stream_);
    begun.work();
  }
  begun.done.record(stream_);
  begun_.push_back(std::move(begun));
  ++given_;
}

void CudaLane::wait(std::size_t count) {
  const c10::cuda::CUDAGuard here(device_);
  while (!begun_.empty() && given_ - begun_.size() < count) {
    begun_.front().done.block(c10::cuda::getCurrentCUDAStream());
    begun_.pop_front();
  }
}

}  // namespace titan::train
