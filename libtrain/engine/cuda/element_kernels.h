#pragma once
// Operations on single elements as one kernel each (element_kernels.cu), where LibTorch's are several: they move what
// they read and write once. Each rounds where the single operations round, so that its results are theirs.
#include "libtrain/engine/device/kernels.h"

namespace titan::train {

/// Tensors that are no bf16 or fp32, or have gaps, are left to the single operations. So are all with
/// TITAN_SINGLE_OPERATIONS=1, for a comparison of bits and of speed.
class ElementKernels : public Kernels {
 public:
  at::Tensor swiglu(const at::Tensor& gate, const at::Tensor& up) override;
  SwiGluGradients swiglu_gradients(const at::Tensor& gate, const at::Tensor& up, at::Tensor inner) override;
  at::Tensor turn(const at::Tensor& x_BTHK, const at::Tensor& turns, bool back) override;
  at::Tensor logit_gradients(at::Tensor log_probabilities, const at::Tensor& targets, double scale,
                             at::ScalarType type) override;
  at::Tensor add_rows(std::span<const at::Tensor> rows) override;
};

}  // namespace titan::train
