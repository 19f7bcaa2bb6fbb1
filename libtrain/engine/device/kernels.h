#pragma once
// Operations for which a device may have its own kernels. The default implementations use LibTorch operations.
#include <cstdint>
#include <span>

#include <ATen/core/Tensor.h>

#include "libtrain/engine/device/rms_norm.h"

namespace titan::train {

/// Target id that is ignored (as in PyTorch's ignore_index): its loss and gradients are 0.
inline constexpr std::int64_t kNoTarget = -100;

/// Gradients of silu(gate) * up, and that product, which the next gradient needs.
struct SwiGluGradients {
  at::Tensor gate, up, product;
};

/// Elements [begin, begin + length) of a contiguous fp32 tensor.
struct NormLeaf {
  const at::Tensor* values;
  std::int64_t begin, length;
  double* entry;  ///< host memory: where the leaf's contribution to a norm is written
};

class Kernels {
 public:
  virtual ~Kernels() = default;

  /// Softmax attention with grouped queries (GQA). One kernel for all shapes.
  virtual at::Tensor attention(const at::Tensor& q_BHTK, const at::Tensor& k_BGTK, const at::Tensor& v_BGTK,
                               bool causal) = 0;
  /// Attention with `mask`, [Tq,Tk] of q's type, added to the scores. \error std::invalid_argument except on the CPU
  virtual at::Tensor masked_attention(const at::Tensor& q_BHTK, const at::Tensor& k_BGTK, const at::Tensor& v_BGTK,
                                      const at::Tensor& mask_TT);

  /// The next three have the bits of single_rms_norm() and single_norm_gradients(). sum_norm() computes x + y and the
  /// norm of that sum; x and y have the same shape and type.
  virtual Normed rms_norm(const at::Tensor& x, const at::Tensor& weight, double eps);
  virtual NormedSum sum_norm(const at::Tensor& x, const at::Tensor& y, const at::Tensor& weight, double eps);
  virtual NormGradients norm_gradients(const at::Tensor& grad, const at::Tensor& along, const at::Tensor& x,
                                       const at::Tensor& weight, const at::Tensor& scale);

  /// silu(gate) * up for equal shapes and types; silu(gate) is rounded to that type.
  virtual at::Tensor swiglu(const at::Tensor& gate, const at::Tensor& up);
  /// `inner` is the gradient of swiglu(gate, up); it may be overwritten.
  virtual SwiGluGradients swiglu_gradients(const at::Tensor& gate, const at::Tensor& up, at::Tensor inner);
  /// RoPE: rotates neighbouring pairs of the last dim in fp32 by complex `turns`: [T,1,K/2], or [B,T,1,K/2] if rows
  /// differ. With `back`, rotates by the opposite angles. The result has x's type.
  virtual at::Tensor turn(const at::Tensor& x_BTHK, const at::Tensor& turns, bool back);

  /// The gradients of logits, in type `type`, for the loss -scale * log_probabilities[target]; 0 where the target is
  /// kNoTarget. `log_probabilities` is fp32 [R,V] and may be overwritten; `targets` is int64 [R].
  virtual at::Tensor logit_gradients(at::Tensor log_probabilities, const at::Tensor& targets, double scale,
                                     at::ScalarType type);
  /// Adds 2, 4 or 8 fp32 rows of equal length as a tree of pairs: (r0 + r1) + (r2 + r3).
  virtual at::Tensor add_rows(std::span<const at::Tensor> rows);

  /// The fp64 loss of each row of logits.
  virtual at::Tensor exact_losses(const at::Tensor& logits_BTV, const at::Tensor& targets_BT) = 0;
  /// The sum of `losses` in fp64 as one element on the device. The order of addition depends only on their number.
  virtual at::Tensor loss_sum(const at::Tensor& losses) = 0;
  /// Sets the entry of each leaf. The order of addition depends only on the leaf's length. `p` = 2: the sum of squares.
  /// `p` = 0: the maximum. Else two numbers: the maximum, then the sum of |x / 2^e|^p (norm_exponent()).
  virtual void leaf_norms(std::span<const NormLeaf> leaves, int p) = 0;
};

/// Those of this process's device (device.h).
Kernels& kernels();

}  // namespace titan::train
