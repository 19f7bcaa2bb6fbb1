#include "recipe/model/from_shapes.h"

#include <algorithm>

#include "ckpt/plan/lr_settings.h"
#include "recipe/keys/config.h"
#include "recipe/keys/key_table.h"
#include "recipe/keys/toml_reader.h"
#include "recipe/model/family.h"

namespace titan::recipe {
namespace {

/// The number of heads in a row; nullopt if no configuration could have that value.
std::optional<std::int64_t> read_heads(const std::string& row) {
  Config config;
  (void)set_value(*find_key("model.n_heads"), parse_override_value(row), config);
  return config.model.n_heads;
}

}  // namespace

ShownModel dims_from_shapes(const Shapes& shapes) {
  const auto extent = [&](Part part, std::size_t dim) -> std::int64_t {
    const auto at = shapes.find(name_of(part));
    return at == shapes.end() || at->second.size() <= dim ? 0 : to_dimension(at->second[dim]);
  };
  ShownModel shown;
  ModelDims& dims = shown.dims;
  dims.dim = extent(Part::kEmbedding, 1);
  dims.vocab_size = extent(Part::kEmbedding, 0);
  dims.ffn_dim = std::max(extent(Part::kGate, 0), extent(Part::kExpertGate, 0));
  dims.n_experts = extent(Part::kRouter, 0);
  const auto has_layer = [&](std::int64_t number) {
    const auto layer = static_cast<std::uint64_t>(number);
    return shapes.contains(name_of(Part::kAttentionNorm, layer)) ||
           shapes.contains(name_of(Part::kAttentionPostNorm, layer));
  };
  while (has_layer(dims.n_layers)) ++dims.n_layers;
  dims.tied = dims.n_layers > 0 && !shapes.contains(name_of(Part::kHead));
  for (const ParameterKind& kind : parameter_kinds())
    if (kind.only_with != nullptr && shapes.contains(name_of(kind.part))) dims.*kind.only_with = true;
  shown.query_rows = extent(Part::kQuery, 0);
  const std::int64_t normed = extent(Part::kQueryNorm, 0);
  dims.whole_qk_norm = dims.post_norm && dims.qk_norm && normed == shown.query_rows;
  if (!dims.whole_qk_norm) dims.head_dim = normed;
  shown.key_rows = extent(Part::kKey, 0);
  return shown;
}

ckpt::Settings known_model(const ckpt::Settings& rows, const std::vector<ckpt::WeightInfo>& tensors,
                           std::optional<std::int64_t> n_heads) {
  Shapes shapes;
  for (const ckpt::WeightInfo& tensor : tensors) shapes[tensor.name] = tensor.shape;
  const ShownModel shown = dims_from_shapes(shapes);
  ckpt::Settings known = rows;
  const auto add = [&](const char* key, std::int64_t value) {
    if (value != 0 && !ckpt::has_setting(rows, key)) known.emplace_back(key, std::to_string(value));
  };
  const auto add_switch = [&](const char* key, bool on) {
    if (!ckpt::has_setting(rows, key) && on) known.emplace_back(key, "true");
  };
  add("model.dim", shown.dims.dim);
  add("model.vocab_size", shown.dims.vocab_size);
  add("model.ffn_dim", shown.dims.ffn_dim);
  add("model.n_layers", shown.dims.n_layers);
  add("model.n_experts", shown.dims.n_experts);
  add_switch("model.tied_embeddings", shown.dims.tied);
  add_switch("model.qkv_bias", shown.dims.qkv_bias);
  add_switch("model.qk_norm", shown.dims.qk_norm);
  add_switch("model.whole_qk_norm", shown.dims.whole_qk_norm);
  add_switch("model.post_norm", shown.dims.post_norm);
  if (ckpt::has_setting(rows, "model.n_heads")) n_heads = read_heads(ckpt::setting(rows, "model.n_heads"));
  // A query or key norm has one weight per row of a head, so its size is head_dim.
  if (shown.dims.head_dim > 0 && !ckpt::has_setting(rows, "model.n_heads")) {
    n_heads = shown.query_rows / shown.dims.head_dim;
    add("model.n_heads", *n_heads);
  }
  if (n_heads && *n_heads > 0 && shown.query_rows >= *n_heads) {
    const std::int64_t head_dim = shown.query_rows / *n_heads;
    add("model.head_dim", head_dim);
    add("model.n_kv_heads", shown.key_rows / head_dim);
  }
  std::ranges::sort(known);
  return known;
}

}  // namespace titan::recipe
