#pragma once
// The CPU as a device: tensors are in host memory, and every operation is complete when its call returns.
#include "libtrain/engine/device/cpu/cpu_kernels.h"
#include "libtrain/engine/device/device.h"

namespace titan::train {

class CpuDevice : public Device {
 public:
  at::Device place() const override { return at::kCPU; }
  std::string name() const override { return "cpu"; }
  MemoryFigures memory() const override;
  at::Tensor host_for(const at::Tensor& values) override { return values; }
  void upload(const at::Tensor&, const at::Tensor&) override {}
  at::Tensor from_host(at::Tensor host) override { return host; }
  at::Tensor to_host(const at::Tensor& values) override;
  std::vector<double> read(std::span<const at::Tensor> scalars) override;
  std::unique_ptr<Lane> make_lane() override;
  std::shared_ptr<Fence> fence() override { return nullptr; }
  void copy_out(const at::Tensor& values, std::span<std::byte> to, const Fence* fence) override;
  std::span<const std::byte> bytes(const at::Tensor& values, std::span<std::byte> scratch) override;
  Kernels& kernels() override { return kernels_; }

 private:
  CpuKernels kernels_;
};

}  // namespace titan::train
