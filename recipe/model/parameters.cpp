#include "recipe/model/parameters.h"

#include <string>

namespace titan::recipe {

std::vector<ckpt::ParameterMeta> model_parameters(const ModelDims& dims) {
  const auto size = [](std::int64_t value) { return static_cast<std::uint64_t>(value); };
  const std::uint64_t dim = size(dims.dim), ffn = size(dims.ffn_dim), vocab = size(dims.vocab_size);
  const std::uint64_t q = size(dims.n_heads * dims.head_dim), kv = size(dims.n_kv_heads * dims.head_dim);

  std::vector<ckpt::ParameterMeta> list;
  list.push_back({"tok_embeddings.weight", {vocab, dim}});
  for (std::int64_t i = 0; i < dims.n_layers; ++i) {
    const std::string layer = "layers." + std::to_string(i) + ".";
    const auto project = [&](const char* name, std::uint64_t rows) {
      list.push_back({layer + "attention." + name + ".weight", {rows, dim}});
      if (dims.qkv_bias) list.push_back({layer + "attention." + name + ".bias", {rows}});
    };
    project("wq", q);
    project("wk", kv);
    project("wv", kv);
    list.push_back({layer + "attention.wo.weight", {dim, q}});
    list.push_back({layer + "feed_forward.w1.weight", {ffn, dim}});
    list.push_back({layer + "feed_forward.w2.weight", {dim, ffn}});
    list.push_back({layer + "feed_forward.w3.weight", {ffn, dim}});
    list.push_back({layer + "attention_norm.weight", {dim}});
    list.push_back({layer + "ffn_norm.weight", {dim}});
  }
  list.push_back({"norm.weight", {dim}});
  if (!dims.tied) list.push_back({"output.weight", {vocab, dim}});
  return list;
}

}  // namespace titan::recipe
