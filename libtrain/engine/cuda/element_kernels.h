#pragma once
// Operations on single elements as one kernel each (element_kernels.cu), where LibTorch's are several: they move what
// they read and write once. Each rounds where the single operations round, so that its results are theirs. The RMS norm
// of a GPU is what the kernel here computes, with or without the sums around it.
#include <cstdint>
#include <span>

#include "libtrain/engine/device/kernels.h"

namespace titan::train {

/// Tensors that are no bf16 or fp32, or have gaps, are left to the single operations. So are all with
/// TITAN_SINGLE_OPERATIONS=1, for a comparison of bits and of speed: then the norm is by itself.
class ElementKernels : public Kernels {
 public:
  Normed rms_norm(const at::Tensor& x, const at::Tensor& weight, double eps) override;
  NormedSum sum_norm(const at::Tensor& x, const at::Tensor& y, const at::Tensor& weight, double eps) override;
  NormGradients norm_gradients(const at::Tensor& grad, const at::Tensor& along, const at::Tensor& x,
                               const at::Tensor& weight, const at::Tensor& scale) override;
  at::Tensor swiglu(const at::Tensor& gate, const at::Tensor& up) override;
  SwiGluGradients swiglu_gradients(const at::Tensor& gate, const at::Tensor& up, at::Tensor inner) override;
  at::Tensor turn(const at::Tensor& x_BTHK, const at::Tensor& turns, bool back) override;
  at::Tensor logit_gradients(at::Tensor log_probabilities, const at::Tensor& targets, double scale,
                             at::ScalarType type) override;
  at::Tensor add_rows(std::span<const at::Tensor> rows) override;
};

/// Leaves of `length` that lie behind each other in `values` (fp32, without gaps); the last may be shorter.
struct LeafRun {
  at::Tensor values;
  std::int64_t length;
};
/// Sets `sums` (fp64, one a leaf) to the sums of squares of the leaves of all runs, in few launches. What a leaf has
/// depends on its own values and length alone.
void leaf_squares(std::span<const LeafRun> runs, const at::Tensor& sums);

}  // namespace titan::train
