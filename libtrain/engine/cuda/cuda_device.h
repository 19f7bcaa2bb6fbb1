#pragma once
// A GPU as the device of a process: one current stream for the run, one of its own for what a saver copies out. Part of
// libtitan_cuda.so.
#include <deque>
#include <map>

#include <ATen/cuda/CUDAEvent.h>
#include <c10/cuda/CUDAStream.h>

#include "libtrain/engine/cuda/cuda_kernels.h"
#include "libtrain/engine/device/device.h"
#include "libtrain/engine/parallel/device_module.h"

namespace titan::train {

/// One function for each of Device's.
class CudaDevice : public Device {
 public:
  /// Sets LibTorch's switches, and makes the GPU that of the calling thread. \error throws what CUDA throws
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
  c10::cuda::CUDAStream copies_;  ///< to the host, for savers
  CudaKernels kernels_;
  struct Piece {
    at::cuda::CUDAEvent begin;
    std::size_t launches = 0;
  };
  /// What a stream may not have done, and all launches of that.
  struct Queue {
    std::deque<Piece> pieces;
    std::size_t launches = 0;
  };
  std::map<c10::StreamId, Queue> queues_;
};

}  // namespace titan::train
