#include "libtrain/engine/model/document_attention.h"

#include <ATen/ATen.h>

#include "libtrain/engine/device/device.h"
#include "libtrain/engine/device/host_values.h"

namespace titan::train {

Documents documents_of(std::span<const std::vector<std::int64_t>> starts, std::int64_t length, const at::Tensor& rope) {
  Documents documents;
  const auto rows = static_cast<std::int64_t>(starts.size());
  const at::Tensor places = device().host_tensor({rows * length}, at::kLong);
  std::int64_t* place = mutable_host_values<std::int64_t>(places).data();
  for (const std::vector<std::int64_t>& row : starts) {
    std::int64_t begin = 0;
    const auto add = [&](std::int64_t end) {
      documents.lengths.push_back(end - begin);
      for (std::int64_t i = begin; i < end; ++i) *place++ = i - begin;
      begin = end;
    };
    for (const std::int64_t start : row)
      if (start < length) add(start);
    add(length);
  }
  documents.rope_BTK = rope.index_select(0, device().from_host(places)).view({rows, length, rope.size(1)});
  return documents;
}

at::Tensor document_attention(const at::Tensor& q_BHTK, const at::Tensor& k_BGTK, const at::Tensor& v_BGTK,
                              const Documents& documents, const Window& window) {
  // All rows are joined, then split into documents: so the split's backward is one concatenation.
  const auto cut = [&](const at::Tensor& x_BHTK) {
    return x_BHTK.transpose(1, 2).flatten(0, 1).split_with_sizes(documents.lengths, 0);
  };
  const auto alone = [](const at::Tensor& x_THK) { return x_THK.unsqueeze(0).transpose(1, 2); };
  const std::vector<at::Tensor> q = cut(q_BHTK), k = cut(k_BGTK), v = cut(v_BGTK);
  std::vector<at::Tensor> pieces;
  for (std::size_t i = 0; i < q.size(); ++i)
    pieces.push_back(causal_attention(alone(q[i]), alone(k[i]), alone(v[i]), window).transpose(1, 2));
  return at::cat(pieces, 1).view({q_BHTK.size(0), q_BHTK.size(2), q_BHTK.size(1), q_BHTK.size(3)}).transpose(1, 2);
}

}  // namespace titan::train
