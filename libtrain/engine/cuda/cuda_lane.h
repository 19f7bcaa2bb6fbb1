#pragma once
// A lane with a CUDA stream of its own. give() launches the work on that stream at once, after the earlier work of the
// run's stream; wait() makes the later work of the run's stream wait for the lane's. Events order the two streams. Part
// of libtitan_cuda.so.
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
    at::cuda::CUDAEvent done;  ///< the lane's stream reaches it after the work
    Work work;                 ///< keeps its tensors alive until the run's stream is ordered after it
  };
  at::Device device_;
  c10::cuda::CUDAStream stream_;
  std::deque<Begun> begun_;
  std::size_t given_ = 0;
};

}  // namespace titan::train
