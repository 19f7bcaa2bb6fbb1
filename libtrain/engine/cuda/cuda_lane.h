#pragma once
// A stream beside the run's: what is given is begun there at once, and the GPU puts it in order. Part of
// libtitan_cuda.so.
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
    Work work;  ///< what it holds must stay until the run's stream comes after it
  };
  at::Device device_;
  c10::cuda::CUDAStream stream_;
  std::deque<Begun> begun_;
  std::size_t given_ = 0;
};

}  // namespace titan::train
