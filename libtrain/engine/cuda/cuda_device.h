#pragma once
// The GPU of a process. It has one stream for training and one for copies of a checkpoint's leaves to the host. Part of
// libtitan_cuda.so.
#include <deque>
#include <map>

#include <ATen/cuda/CUDAEvent.h>
#include <c10/cuda/CUDAStream.h>

#include "libtrain/engine/cuda/cuda_kernels.h"
#include "libtrain/engine/device/device.h"
#include "libtrain/engine/parallel/device_module.h"

namespace titan::train {

class CudaDevice : public Device {
 public:
  /// Sets LibTorch's switches and makes the GPU current in the calling thread. \error throws CUDA's errors
  explicit CudaDevice(DeviceSettings settings);

  at::Device place() const override { return place_; }
  std::string name() const override;
  std::string unit() const override;
  ckpt::Settings environment() const override;
  MemoryFigures memory() const override;
  std::shared_ptr<std::byte[]> host_memory(std::size_t bytes) override;
  at::Tensor host_tensor(at::IntArrayRef sizes, at::ScalarType type) override;
  at::Tensor host_for(const at::Tensor& values) override;
  void upload(const at::Tensor& host, const at::Tensor& values) override;
  at::Tensor from_host(at::Tensor host) override;
  at::Tensor to_host(const at::Tensor& values) override;
  std::vector<double> read(std::span<const at::Tensor> scalars) override;
  void keep_pace(std::size_t launches) override;
  std::unique_ptr<Lane> make_lane() override;
  std::shared_ptr<Fence> fence() override;
  void copy_out(const at::Tensor& values, std::span<std::byte> to, const Fence* fence) override;
  Kernels& kernels() override { return kernels_; }

 private:
  DeviceSettings settings_;
  at::Device place_;
  c10::cuda::CUDAStream copies_;  ///< stream for the saver's copies to the host
  CudaKernels kernels_;
  /// The work between two calls of keep_pace().
  struct Work {
    at::cuda::CUDAEvent begin;  ///< the stream reaches it before its first kernel
    std::size_t launches = 0;
  };
  /// The work that a stream may not have completed, and its total number of launches.
  struct Queue {
    std::deque<Work> work;
    std::size_t launches = 0;
  };
  std::map<c10::StreamId, Queue> queues_;
};

}  // namespace titan::train
