#include "converters/megatron/tensors.h"

#include <algorithm>
#include <optional>

#include "ckpt/base/text.h"
#include "recipe/model/family.h"

namespace titan::convert::megatron {
namespace {

using recipe::ModelDims;

constexpr std::string_view kLayers = "decoder.layers.", kState = "optimizer.state.", kExtra = "_extra_state";
constexpr std::string_view kSlots[] = {"exp_avg", "exp_avg_sq", "param", "fp32_param"};
constexpr std::uint64_t kMostTensors = 250'000;  // each layer's tensor counts as one

// What a Megatron tensor, of a layer or outside of layers, contains.
struct Whole {
  std::string_view theirs;
  recipe::Part part;
};
constexpr Whole kWhole[] = {{"decoder.final_layernorm.weight", recipe::Part::kFinalNorm},
                            {"self_attention.linear_qkv.layer_norm_weight", recipe::Part::kAttentionNorm},
                            {"self_attention.linear_proj.weight", recipe::Part::kAttentionOut},
                            {"self_attention.q_layernorm.weight", recipe::Part::kQueryNorm},
                            {"self_attention.k_layernorm.weight", recipe::Part::kKeyNorm},
                            {"mlp.linear_fc1.layer_norm_weight", recipe::Part::kFeedForwardNorm},
                            {"pre_mlp_layernorm.weight", recipe::Part::kFeedForwardNorm},
                            {"mlp.linear_fc1.weight_w", recipe::Part::kGate},
                            {"mlp.linear_fc1.weight_v", recipe::Part::kUp},
                            {"mlp.linear_fc2.weight", recipe::Part::kDown}};
constexpr Whole kOfVocabulary[] = {{"embedding.word_embeddings.weight", recipe::Part::kEmbedding},
                                   {"output_layer.weight", recipe::Part::kHead}};

std::string theirs(recipe::Part part, std::string_view layer) {
  return recipe::filled_pattern(recipe::kind_of(part).huggingface, {layer, ""});
}

// The end of "layers." in a name for all layers at once; nullopt for other names.
std::optional<std::size_t> stacked_at(std::string_view name) {
  const std::size_t at = name.find(kLayers);
  const bool begins = at == 0 || (at != std::string_view::npos && name[at - 1] == '.');
  if (!begins || at + kLayers.size() >= name.size()) return std::nullopt;
  const char next = name[at + kLayers.size()];
  if (next >= '0' && next <= '9') return std::nullopt;
  return at + kLayers.size();
}

bool is_left_out(std::string_view name) {
  return name.starts_with(kBuckets) || name.ends_with(kExtra) || name.starts_with("rng_state") ||
         (name.starts_with(kState) && split_state(name).slot.empty());
}

// Removes the prefix that frameworks around Megatron add.
std::string_view without_prefix(std::string_view name) {
  for (const std::string_view prefix : {"module.", "model."})
    if (name.starts_with(prefix)) name.remove_prefix(prefix.size());
  return name;
}

}  // namespace

StateName split_state(std::string_view name) {
  if (!name.starts_with(kState)) return {"", name};
  const std::string_view rest = name.substr(kState.size());
  for (const std::string_view slot : kSlots)
    if (rest.starts_with(slot) && rest.size() > slot.size() && rest[slot.size()] == '.')
      return {slot == "fp32_param" ? kMasterSlot : slot, rest.substr(slot.size() + 1)};
  return {"", name};
}

Result<std::vector<LayerTensor>> list_tensors(const dcp::DcpReader& reader) {
  std::vector<LayerTensor> out;
  for (const dcp::TensorEntry& entry : reader.metadata().tensors) {
    if (is_left_out(entry.name)) continue;
    const Result<DType> dtype = ckpt::parse_dtype(entry.dtype);
    if (!dtype.ok())
      return ckpt::unsupported(reader.path() + ": tensor '" + entry.name + "' has elements of torch." + entry.dtype +
                               ", which a Titan checkpoint cannot have");
    const auto at = stacked_at(entry.name);
    if (!at || entry.shape.empty()) {
      out.push_back({{entry.name, *dtype, entry.shape}, &entry, 0});
      continue;
    }
    if (entry.shape[0] > kMostTensors - std::min<std::uint64_t>(out.size(), kMostTensors))
      return ckpt::unsupported(reader.path() + ": tensor '" + entry.name + "' is of " + std::to_string(entry.shape[0]) +
                               " layers, at most " + std::to_string(kMostTensors) + " tensors are read");
    const std::vector<std::uint64_t> shape(entry.shape.begin() + 1, entry.shape.end());
    for (std::uint64_t layer = 0; layer < entry.shape[0]; ++layer)
      out.push_back({{entry.name.substr(0, *at) + std::to_string(layer) + "." + entry.name.substr(*at), *dtype, shape},
                     &entry,
                     layer * ckpt::element_count(shape)});
  }
  return out;
}

Result<std::vector<Part>> parts_of(const std::string& path, const std::string& name,
                                   const std::vector<std::uint64_t>& shape, const ModelDims& model) {
  std::string_view rest = without_prefix(name), layer;
  const auto whole = [&](recipe::Part part) { return std::vector<Part>{{theirs(part, layer), shape, {}}}; };
  for (const auto& [full, part] : kOfVocabulary) {
    if (rest != full) continue;
    std::vector<Part> out = whole(part);
    const auto rows = static_cast<std::uint64_t>(model.vocab_size);
    if (shape.empty() || shape[0] <= rows) return out;
    out[0].shape[0] = rows;
    out[0].blocks = {rows, shape[0], 0};
    return out;
  }
  if (rest.starts_with(kLayers)) {
    rest.remove_prefix(kLayers.size());
    layer = rest.substr(0, rest.find('.'));
    rest.remove_prefix(std::min(layer.size() + 1, rest.size()));
  }
  for (const auto& [full, part] : kWhole)
    if (rest == full) return whole(part);
  // A norm that is not fused into the following projection has the same name as in Hugging Face's model.
  if (theirs(recipe::Part::kAttentionNorm, layer) == "model.layers." + std::string(layer) + "." + std::string(rest))
    return whole(recipe::Part::kAttentionNorm);
  const bool bias = rest == "self_attention.linear_qkv.bias";
  const auto head = static_cast<std::uint64_t>(model.head_dim), inner = static_cast<std::uint64_t>(model.ffn_dim),
             groups = static_cast<std::uint64_t>(model.n_kv_heads),
             queries = static_cast<std::uint64_t>(model.n_heads / model.n_kv_heads) * head;
  // The rows are `blocks` equal blocks (one per group of heads, or one), and each part has a share of the rows of every
  // block.
  std::vector<Part> out;
  std::uint64_t period = 0, blocks = 1;
  const auto add = [&](recipe::Part part, std::uint64_t rows) {
    out.push_back({theirs(part, layer), shape, {rows, 0, period}});
    period += rows;
  };
  if (bias || rest == "self_attention.linear_qkv.weight") {
    blocks = groups;
    add(bias ? recipe::Part::kQueryBias : recipe::Part::kQuery, queries);
    add(bias ? recipe::Part::kKeyBias : recipe::Part::kKey, head);
    add(bias ? recipe::Part::kValueBias : recipe::Part::kValue, head);
  } else if (rest == "mlp.linear_fc1.weight") {
    add(recipe::Part::kGate, inner);
    add(recipe::Part::kUp, inner);
  } else {
    return out;
  }
  if (shape.empty() || shape[0] != period * blocks)
    return ckpt::incompatible(path + ": '" + name + "' has " + std::to_string(shape.empty() ? 0 : shape[0]) +
                              " rows, its model makes it " + std::to_string(period * blocks))
        .with_hint("are model.n_heads, model.n_kv_heads, model.head_dim and model.ffn_dim those of the run?");
  for (Part& part : out) {
    part.shape[0] = part.blocks.rows * blocks;
    part.blocks.period = period;
  }
  return out;
}

}  // namespace titan::convert::megatron
