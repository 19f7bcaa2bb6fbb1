#include "libtrain/engine/model/causal_attention.h"

#include <ATen/ATen.h>

#include <algorithm>
#include <limits>
#include <vector>

#include "libtrain/engine/device/device.h"

namespace titan::train {
namespace {

constexpr std::int64_t kTokens = 2;   // the dimension of tokens
constexpr std::int64_t kBlock = 512;  // queries per block

}  // namespace

at::Tensor window_mask(std::int64_t tokens, std::int64_t longest, at::ScalarType type) {
  if (tokens == 0 || longest <= tokens) return {};
  // Query i of a block attends to keys i to i + tokens - 1 of the block's keys.
  const std::int64_t rows = std::min(kBlock, longest), columns = rows + tokens - 1;
  const at::TensorOptions options = device().options(at::kLong);
  const at::Tensor ahead = at::arange(columns, options).unsqueeze(0) - at::arange(rows, options).unsqueeze(1);
  return at::zeros({rows, columns}, device().options(type))
      .masked_fill_(at::logical_or(ahead < 0, ahead >= tokens), -std::numeric_limits<double>::infinity());
}

at::Tensor causal_attention(const at::Tensor& q_BHTK, const at::Tensor& k_BGTK, const at::Tensor& v_BGTK,
                            const Window& window) {
  const std::int64_t length = q_BHTK.size(kTokens);
  if (window.tokens == 0 || length <= window.tokens)
    return kernels().attention(q_BHTK, k_BGTK, v_BGTK, /*causal=*/true);
  std::vector<at::Tensor> blocks;
  for (std::int64_t begin = 0; begin < length; begin += kBlock) {
    const std::int64_t rows = std::min(kBlock, length - begin), first = begin - (window.tokens - 1),
                       from = std::max<std::int64_t>(first, 0), keys = begin + rows - from;
    // The first blocks of a row have fewer earlier keys, so they use only the last columns of the mask.
    const at::Tensor mask = window.mask.narrow(0, 0, rows).narrow(1, from - first, keys);
    blocks.push_back(kernels().masked_attention(q_BHTK.narrow(kTokens, begin, rows), k_BGTK.narrow(kTokens, from, keys),
                                                v_BGTK.narrow(kTokens, from, keys), mask));
  }
  return blocks.size() == 1 ? blocks[0] : at::cat(blocks, kTokens);
}

}  // namespace titan::train
