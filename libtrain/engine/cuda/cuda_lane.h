#pragma once
// A lane on its own CUDA stream: work is launched there at once, ordered by events. Part of libtitan_cuda.so.
#include <deque>

#include <ATen/cuda/CUDAEvent.h>
#include <c10/cuda/CUDAStream.h>

#include "libtrain/engine/device/lane.h"

namespace titan::train {

class CudaLane final : public Lane {
 public:
  explicit CudaLane(at::Device device);
  ~CudaLane() override;

  void give(Work work) override;
  std::size_t given() const override { return given_; }
  void wait(std::size_t count) override;

 private:
  struct Begun {
    at::cuda::CUDAEvent done;
    Work work;  ///< keeps its tensors alive until the run's stream is ordered after it
  };
  at::Device device_;
  c10::cuda::CUDAStream stream_;
  std::deque<Begun> begun_;
  std::size_t given_ = 0;
};

}  // namespace titan::train
