#pragma once
// Operations for which a device may have its own kernels. The default implementations use LibTorch operations.
//
// Shape letters: B sequences of a micro-batch, T tokens, H heads, G key/value heads, K head dim, V vocabulary, R rows.
#include <cstdint>
#include <span>

#include <ATen/core/Tensor.h>

#include "libtrain/engine/device/rms_norm.h"

namespace titan::train {

/// The target of a token without a loss (PyTorch's default ignore_index): its loss and gradients are 0.
inline constexpr std::int64_t kNoTarget = -100;

/// The gradients of gate and up, and the product silu(gate) * up, from which the gradient of the down projection's
/// weight is computed.
struct SwiGluGradients {
  at::Tensor gate, up, product;
};

/// Elements [begin, begin + length) of a contiguous fp32 tensor.
struct NormLeaf {
  const at::Tensor* values;
  std::int64_t begin, length;
  double* entry;  ///< host memory of one or two numbers: where leaf_norms() writes the leaf's contribution to a norm
};

/// Operations on tensors of one device. Only attention has autograd.
class Kernels {
 public:
  virtual ~Kernels() = default;

  /// Softmax attention with grouped key/value heads (GQA): H is a multiple of G. Returns [B,H,T,K].
  virtual at::Tensor attention(const at::Tensor& q_BHTK, const at::Tensor& k_BGTK, const at::Tensor& v_BGTK,
                               bool causal) = 0;
  /// As attention(), with `mask` added to the scores: [T of q, T of k], of q's type. \error std::invalid_argument
  /// except on the CPU
  virtual at::Tensor masked_attention(const at::Tensor& q_BHTK, const at::Tensor& k_BGTK, const at::Tensor& v_BGTK,
                                      const at::Tensor& mask_TT);

  /// RMSNorm of x; RMSNorm of x + y, where x and y have the same shape and type; the gradients of RMSNorm (rms_norm.h).
  /// sum_norm() has the bits of an addition followed by rms_norm(). The default implementations have the bits of
  /// single_rms_norm() and single_norm_gradients(); a GPU adds in another order.
  virtual Normed rms_norm(const at::Tensor& x, const at::Tensor& weight, double eps);
  virtual NormedSum sum_norm(const at::Tensor& x, const at::Tensor& y, const at::Tensor& weight, double eps);
  virtual NormGradients norm_gradients(const at::Tensor& grad, const at::Tensor& along, const at::Tensor& x,
                                       const at::Tensor& weight, const at::Tensor& scale);

  /// silu(gate) * up for equal shapes and types; silu(gate) is rounded to that type.
  virtual at::Tensor swiglu(const at::Tensor& gate, const at::Tensor& up);
  /// The backward of swiglu(gate, up), where `inner` is the gradient of its result. May overwrite `inner`.
  virtual SwiGluGradients swiglu_gradients(const at::Tensor& gate, const at::Tensor& up, at::Tensor inner);
  /// RoPE: multiplies adjacent pairs of the last dim, as complex fp32 numbers, by the rotations `rotations`: complex64
  /// [T,1,K/2], or [B,T,1,K/2] if the rows of the batch differ. With `back`, rotates by the opposite angles. The result
  /// has x's type.
  virtual at::Tensor rope(const at::Tensor& x_BTHK, const at::Tensor& rotations, bool back);

  /// The gradients of logits [R,V], in type `type`, for the loss -scale * log_probabilities[target] of each row; 0
  /// where the target is kNoTarget. `log_probabilities` is fp32 [R,V] and may be overwritten; `targets` is int64 [R].
  virtual at::Tensor logit_gradients(at::Tensor log_probabilities, const at::Tensor& targets, double scale,
                                     at::ScalarType type);
  /// The fp32 sum of 2, 4 or 8 rows of equal length, added as a tree of pairs: (r0 + r1) + (r2 + r3). Rows are fp32 or
  /// bf16.
  virtual at::Tensor add_rows(std::span<const at::Tensor> rows);

  /// The cross-entropy of each token in fp64, [B*T]. `targets` is int64 [B,T], without kNoTarget.
  virtual at::Tensor exact_losses(const at::Tensor& logits_BTV, const at::Tensor& targets_BT) = 0;
  /// The sum of `losses` in fp64, as a tensor of one element on the device. The order of addition depends only on the
  /// number of losses.
  virtual at::Tensor loss_sum(const at::Tensor& losses) = 0;
  /// Writes each leaf's contribution to a p-norm to its `entry`. `p` = 2: the sum of squares. `p` = 0: the largest |x|.
  /// Else two numbers: the largest |x|, and the sum of |x / 2^e|^p, where e = norm_exponent(largest). The order of
  /// addition depends only on the leaf's length.
  virtual void leaf_norms(std::span<const NormLeaf> leaves, int p) = 0;
};

/// The kernels of this process's device (device.h).
Kernels& kernels();

}  // namespace titan::train
