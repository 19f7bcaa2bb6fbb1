#pragma once
// Element kernels (element_kernels.cu): each fuses element-wise operations for which LibTorch launches several kernels,
// so that data is read and written once. Each rounds where LibTorch's single operations round, so its results have the
// same bits. Exceptions are RMSNorm and leaf_squares(), which add in another order than LibTorch: a GPU therefore
// always uses the kernels here for them. The kernel that adds x + y and normalises the sum has the bits of an addition
// followed by the RMSNorm kernel.
#include <cstdint>
#include <span>

#include "libtrain/engine/device/kernels.h"

namespace titan::train {

/// Tensors that are neither bf16 nor fp32, or whose memory layout a kernel cannot read, use LibTorch's single
/// operations. If the environment variable TITAN_SINGLE_OPERATIONS is set, all tensors do, to compare bits and speed;
/// RMSNorm then still uses its kernel, but sums are not fused into it.
class ElementKernels : public Kernels {
 public:
  Normed rms_norm(const at::Tensor& x, const at::Tensor& weight, double eps) override;
  NormedSum sum_norm(const at::Tensor& x, const at::Tensor& y, const at::Tensor& weight, double eps) override;
  NormGradients norm_gradients(const at::Tensor& grad, const at::Tensor& along, const at::Tensor& x,
                               const at::Tensor& weight, const at::Tensor& scale) override;
  at::Tensor swiglu(const at::Tensor& gate, const at::Tensor& up) override;
  SwiGluGradients swiglu_gradients(const at::Tensor& gate, const at::Tensor& up, at::Tensor inner) override;
  at::Tensor rope(const at::Tensor& x_BTHK, const at::Tensor& rotations, bool back) override;
  at::Tensor logit_gradients(at::Tensor log_probabilities, const at::Tensor& targets, double scale,
                             at::ScalarType type) override;
  at::Tensor add_rows(std::span<const at::Tensor> rows) override;
};

/// Consecutive leaves of `length` elements in `values` (fp32, contiguous); the last may be shorter.
struct LeafRun {
  at::Tensor values;
  std::int64_t length;
};
/// Sets `sums` (fp64, one element per leaf of all runs, in order) to the leaves' sums of squares, with one launch per
/// 64 runs. A leaf's result depends only on its own values and length.
void leaf_squares(std::span<const LeafRun> runs, const at::Tensor& sums);

}  // namespace titan::train
