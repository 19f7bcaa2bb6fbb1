#pragma once
// The kernels of a GPU: attention, losses, gradient norms, and the element kernels. Part of libtitan_cuda.so.
#include "libtrain/engine/cuda/element_kernels.h"
#include "libtrain/engine/parallel/device_module.h"

namespace titan::train {

class CudaKernels final : public ElementKernels {
 public:
  /// `device` owns these kernels and must outlive them.
  CudaKernels(const DeviceSettings& settings, Device& device);

  at::Tensor attention(const at::Tensor& q_BHTK, const at::Tensor& k_BGTK, const at::Tensor& v_BGTK,
                       bool causal) override;
  at::Tensor exact_losses(const at::Tensor& logits_BTV, const at::Tensor& targets_BT) override;
  at::Tensor loss_sum(const at::Tensor& losses) override;
  void leaf_norms(std::span<const NormLeaf> leaves, int p) override;

 private:
  DeviceSettings settings_;
  Device& device_;
};

}  // namespace titan::train
