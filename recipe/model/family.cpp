#include "recipe/model/family.h"

#include <algorithm>

#include "recipe/model/dims.h"

namespace titan::recipe {
namespace {

constexpr bool ModelDims::*kAlways = nullptr;

constexpr ParameterKind kind(Part part, Extent rows, Extent columns, Rows order, Start start,
                             bool ModelDims::*only_with, std::string_view ours, std::string_view huggingface,
                             std::string_view mistral, std::string_view newer, std::string_view gguf) {
  return {part, {rows, columns}, order, start, only_with, ours, huggingface, mistral, newer, gguf};
}

// Columns: part, extents, rows, start, only with; ours, Hugging Face's, Mistral's, torchtitan 0.3.0's, llama.cpp's
// names.
constexpr ParameterKind kKinds[] = {
    kind(Part::kEmbedding, Extent::kVocabulary, Extent::kWidth, Rows::kStay, Start::kEmbedding, kAlways, kEmbeddingName,
         "model.embed_tokens.weight", kEmbeddingName, "", "token_embd.weight"),
    kind(Part::kQueryNorm, Extent::kHeadDim, Extent::kNone, Rows::kQuery, Start::kOnes, &ModelDims::qk_norm,
         "layers.#.attention.q_norm.weight", "model.layers.#.self_attn.q_norm.weight", "", "",
         "blk.#.attn_q_norm.weight"),
    kind(Part::kKeyNorm, Extent::kHeadDim, Extent::kNone, Rows::kKey, Start::kOnes, &ModelDims::qk_norm,
         "layers.#.attention.k_norm.weight", "model.layers.#.self_attn.k_norm.weight", "", "",
         "blk.#.attn_k_norm.weight"),
    kind(Part::kQuery, Extent::kQueries, Extent::kWidth, Rows::kQuery, Start::kNarrow, kAlways,
         "layers.#.attention.wq.weight", "model.layers.#.self_attn.q_proj.weight", "layers.#.attention.wq.weight",
         "layers.#.attention.qkv_linear.wq.weight", "blk.#.attn_q.weight"),
    kind(Part::kQueryBias, Extent::kQueries, Extent::kNone, Rows::kQuery, Start::kZeros, &ModelDims::qkv_bias,
         "layers.#.attention.wq.bias", "model.layers.#.self_attn.q_proj.bias", "",
         "layers.#.attention.qkv_linear.wq.bias", "blk.#.attn_q.bias"),
    kind(Part::kKey, Extent::kKeys, Extent::kWidth, Rows::kKey, Start::kNarrow, kAlways, "layers.#.attention.wk.weight",
         "model.layers.#.self_attn.k_proj.weight", "layers.#.attention.wk.weight",
         "layers.#.attention.qkv_linear.wk.weight", "blk.#.attn_k.weight"),
    kind(Part::kKeyBias, Extent::kKeys, Extent::kNone, Rows::kKey, Start::kZeros, &ModelDims::qkv_bias,
         "layers.#.attention.wk.bias", "model.layers.#.self_attn.k_proj.bias", "",
         "layers.#.attention.qkv_linear.wk.bias", "blk.#.attn_k.bias"),
    kind(Part::kValue, Extent::kKeys, Extent::kWidth, Rows::kStay, Start::kNarrow, kAlways,
         "layers.#.attention.wv.weight", "model.layers.#.self_attn.v_proj.weight", "layers.#.attention.wv.weight",
         "layers.#.attention.qkv_linear.wv.weight", "blk.#.attn_v.weight"),
    kind(Part::kValueBias, Extent::kKeys, Extent::kNone, Rows::kStay, Start::kZeros, &ModelDims::qkv_bias,
         "layers.#.attention.wv.bias", "model.layers.#.self_attn.v_proj.bias", "",
         "layers.#.attention.qkv_linear.wv.bias", "blk.#.attn_v.bias"),
    kind(Part::kAttentionOut, Extent::kWidth, Extent::kQueries, Rows::kStay, Start::kByDepth, kAlways,
         "layers.#.attention.wo.weight", "model.layers.#.self_attn.o_proj.weight", "layers.#.attention.wo.weight", "",
         "blk.#.attn_output.weight"),
    kind(Part::kGate, Extent::kInner, Extent::kWidth, Rows::kStay, Start::kNarrow, kAlways,
         "layers.#.feed_forward.w1.weight", "model.layers.#.mlp.gate_proj.weight", "layers.#.feed_forward.w1.weight",
         "", "blk.#.ffn_gate.weight"),
    kind(Part::kDown, Extent::kWidth, Extent::kInner, Rows::kStay, Start::kByDepth, kAlways,
         "layers.#.feed_forward.w2.weight", "model.layers.#.mlp.down_proj.weight", "layers.#.feed_forward.w2.weight",
         "", "blk.#.ffn_down.weight"),
    kind(Part::kUp, Extent::kInner, Extent::kWidth, Rows::kStay, Start::kByDepth, kAlways,
         "layers.#.feed_forward.w3.weight", "model.layers.#.mlp.up_proj.weight", "layers.#.feed_forward.w3.weight", "",
         "blk.#.ffn_up.weight"),
    kind(Part::kAttentionNorm, Extent::kWidth, Extent::kNone, Rows::kStay, Start::kOnes, kAlways,
         "layers.#.attention_norm.weight", "model.layers.#.input_layernorm.weight", "layers.#.attention_norm.weight",
         "", "blk.#.attn_norm.weight"),
    kind(Part::kFeedForwardNorm, Extent::kWidth, Extent::kNone, Rows::kStay, Start::kOnes, kAlways,
         "layers.#.ffn_norm.weight", "model.layers.#.post_attention_layernorm.weight", "layers.#.ffn_norm.weight", "",
         "blk.#.ffn_norm.weight"),
    kind(Part::kFinalNorm, Extent::kWidth, Extent::kNone, Rows::kStay, Start::kOnes, kAlways, kFinalNormName,
         "model.norm.weight", kFinalNormName, "", "output_norm.weight"),
    kind(Part::kHead, Extent::kVocabulary, Extent::kWidth, Rows::kStay, Start::kHead, kAlways, kHeadName,
         kHuggingfaceHead, kHeadName, kHuggingfaceHead, "output.weight"),
};
static_assert(std::size(kKinds) == kParts);
static_assert(std::ranges::is_sorted(kKinds, {}, &ParameterKind::part));

}  // namespace

std::span<const ParameterKind> parameter_kinds() { return kKinds; }

const ParameterKind& kind_of(Part part) { return kKinds[static_cast<std::size_t>(part)]; }

std::vector<const ParameterKind*> layer_kinds(const ModelDims& dims) {
  std::vector<const ParameterKind*> kinds;
  for (const ParameterKind& kind : kKinds)
    if (kind.in_layer() && (kind.only_with == nullptr || dims.*kind.only_with)) kinds.push_back(&kind);
  return kinds;
}

std::uint64_t extent(Extent extent, const ModelDims& dims) {
  const auto size = [](std::int64_t value) { return static_cast<std::uint64_t>(value); };
  switch (extent) {
    case Extent::kNone: return 1;
    case Extent::kVocabulary: return size(dims.vocab_size);
    case Extent::kWidth: return size(dims.dim);
    case Extent::kQueries: return size(dims.n_heads * dims.head_dim);
    case Extent::kKeys: return size(dims.n_kv_heads * dims.head_dim);
    case Extent::kHeadDim: return size(dims.head_dim);
    case Extent::kInner: return size(dims.ffn_dim);
  }
  return 0;
}

std::vector<std::uint64_t> shape_of(const ParameterKind& kind, const ModelDims& dims) {
  std::vector<std::uint64_t> shape;
  for (const Extent e : kind.extents)
    if (e != Extent::kNone) shape.push_back(extent(e, dims));
  return shape;
}

std::uint64_t layer_elements(const ModelDims& dims, bool matrices) {
  std::uint64_t sum = 0;
  for (const ParameterKind* kind : layer_kinds(dims))
    if (!matrices || kind->is_matrix()) sum += extent(kind->extents[0], dims) * extent(kind->extents[1], dims);
  return sum;
}

std::string name_of(Part part, std::uint64_t layer) {
  return filled_pattern(kind_of(part).ours, std::to_string(layer));
}

std::optional<NamedPart> part_of(std::string_view name) {
  std::string_view digits;
  for (const ParameterKind& kind : kKinds) {
    if (!fits_pattern(name, kind.ours, digits)) continue;
    return NamedPart{&kind, kind.in_layer() ? std::stoull(std::string(digits)) : 0};
  }
  return std::nullopt;
}

bool fits_pattern(std::string_view name, std::string_view pattern, std::string_view& layer) {
  constexpr std::size_t kMostDigits = 9;
  const std::size_t mark = pattern.find('#');
  if (mark == std::string_view::npos) return name == pattern;
  const std::string_view before = pattern.substr(0, mark), after = pattern.substr(mark + 1);
  if (name.size() <= before.size() + after.size() || !name.starts_with(before) || !name.ends_with(after)) return false;
  layer = name.substr(before.size(), name.size() - before.size() - after.size());
  return layer.size() <= kMostDigits && std::ranges::all_of(layer, [](char c) { return c >= '0' && c <= '9'; }) &&
         (layer.size() == 1 || layer[0] != '0');
}

std::string filled_pattern(std::string_view pattern, std::string_view layer) {
  std::string text(pattern);
  if (const std::size_t mark = text.find('#'); mark != std::string::npos) text.replace(mark, 1, layer);
  return text;
}

}  // namespace titan::recipe
