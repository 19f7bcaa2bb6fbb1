#include "libtrain/engine/cuda/flash_attention.h"

#include <utility>
#include <vector>

#include <ATen/ATen.h>
#include <torch/csrc/autograd/custom_function.h>

#include "libtrain/job/host/heads_per_call.h"

namespace titan::train {
namespace {

using torch::autograd::AutogradContext;
using torch::autograd::variable_list;

constexpr double kNoDropout = 0;

/// Heads [first, first + count) of `values`, whose dimension 1 is the heads.
at::Tensor heads(const at::Tensor& values, std::int64_t first, std::int64_t count) {
  return values.narrow(1, first, count);
}

/// Joins [B,heads,T,K] parts along the heads. The memory order is that of the kernel's results: B, T, heads, K.
at::Tensor joined(const std::vector<at::Tensor>& parts) {
  if (parts.size() == 1) return parts.front();
  std::vector<at::Tensor> by_token;
  for (const at::Tensor& part : parts) by_token.push_back(part.transpose(1, 2));
  return at::cat(by_token, 2).transpose(1, 2);
}

struct HeadsInCalls final : torch::autograd::Function<HeadsInCalls> {
  static at::Tensor forward(AutogradContext* context, const at::Tensor& q, const at::Tensor& k, const at::Tensor& v,
                            std::int64_t multiprocessors) {
    const auto [out, logs, cum_q, cum_k, most_q, most_k, seed, offset, mask] =
        at::_scaled_dot_product_flash_attention(q, k, v, kNoDropout, /*is_causal=*/true, /*return_debug_mask=*/false);
    context->save_for_backward({q, k, v, out, logs, seed, offset});
    context->saved_data["multiprocessors"] = multiprocessors;
    return out;
  }

  static variable_list backward(AutogradContext* context, variable_list grads) {
    const variable_list saved = context->get_saved_variables();
    const at::Tensor &q = saved[0], &k = saved[1], &v = saved[2], &out = saved[3], &logs = saved[4];
    const std::int64_t group = q.size(1) / k.size(1), tokens = q.size(2);
    const AttentionShape shape{q.size(0), q.size(1), tokens, group};
    std::vector<at::Tensor> of_q, of_k, of_v;
    std::int64_t first = 0;
    for (const std::int64_t count : heads_per_call(shape, context->saved_data["multiprocessors"].toInt())) {
      const std::int64_t first_shared = first / group, shared = count / group;
      auto [dq, dk, dv] = at::_scaled_dot_product_flash_attention_backward(
          heads(grads[0], first, count), heads(q, first, count), heads(k, first_shared, shared),
          heads(v, first_shared, shared), heads(out, first, count), heads(logs, first, count).contiguous(),
          /*cum_seq_q=*/{}, /*cum_seq_k=*/{}, tokens, tokens, kNoDropout, /*is_causal=*/true, saved[5], saved[6]);
      of_q.push_back(std::move(dq));
      of_k.push_back(std::move(dk));
      of_v.push_back(std::move(dv));
      first += count;
    }
    return {joined(of_q), joined(of_k), joined(of_v), {}};
  }
};

}  // namespace

at::Tensor flash_attention(const at::Tensor& q_BHTK, const at::Tensor& k_BGTK, const at::Tensor& v_BGTK,
                           std::int64_t multiprocessors) {
  return HeadsInCalls::apply(q_BHTK, k_BGTK, v_BGTK, multiprocessors);
}

}  // namespace titan::train
