#include "recipe/model/family.h"

#include <algorithm>

#include "recipe/model/dims.h"

namespace titan::recipe {
namespace {

// The switches of ModelDims on which a parameter depends.
struct Only {
  bool ModelDims::*with = nullptr;
  bool ModelDims::*without = nullptr;
};
constexpr Only kAlways, kQkNorm{&ModelDims::qk_norm}, kQkvBias{&ModelDims::qkv_bias}, kPostNorm{&ModelDims::post_norm},
    kPreNorm{nullptr, &ModelDims::post_norm}, kDense{nullptr, &ModelDims::experts}, kExperts{&ModelDims::experts};

constexpr ParameterKind kind(Part part, Extent rows, Extent columns, Rows order, Start start, Only only,
                             std::string_view ours, std::string_view huggingface, std::string_view mistral,
                             std::string_view newer, std::string_view gguf, std::string_view mixtral = "") {
  return {part, {rows, columns}, order,   start, only.with, only.without,
          ours, huggingface,     mistral, newer, gguf,      mixtral};
}

// Columns: part, extents, rows, start, which models; then the names of Titan, Hugging Face, Mistral, torchtitan 0.3.0
// and llama.cpp.
constexpr ParameterKind kKinds[] = {
    kind(Part::kEmbedding, Extent::kVocabulary, Extent::kWidth, Rows::kStay, Start::kEmbedding, kAlways, kEmbeddingName,
         "model.embed_tokens.weight", kEmbeddingName, "", "token_embd.weight"),
    kind(Part::kQueryNorm, Extent::kQueryNorm, Extent::kNone, Rows::kQuery, Start::kOnes, kQkNorm,
         "layers.#.attention.q_norm.weight", "model.layers.#.self_attn.q_norm.weight", "", "",
         "blk.#.attn_q_norm.weight"),
    kind(Part::kKeyNorm, Extent::kKeyNorm, Extent::kNone, Rows::kKey, Start::kOnes, kQkNorm,
         "layers.#.attention.k_norm.weight", "model.layers.#.self_attn.k_norm.weight", "", "",
         "blk.#.attn_k_norm.weight"),
    kind(Part::kQuery, Extent::kQueries, Extent::kWidth, Rows::kQuery, Start::kNarrow, kAlways,
         "layers.#.attention.wq.weight", "model.layers.#.self_attn.q_proj.weight", "layers.#.attention.wq.weight",
         "layers.#.attention.qkv_linear.wq.weight", "blk.#.attn_q.weight"),
    kind(Part::kQueryBias, Extent::kQueries, Extent::kNone, Rows::kQuery, Start::kZeros, kQkvBias,
         "layers.#.attention.wq.bias", "model.layers.#.self_attn.q_proj.bias", "",
         "layers.#.attention.qkv_linear.wq.bias", "blk.#.attn_q.bias"),
    kind(Part::kKey, Extent::kKeys, Extent::kWidth, Rows::kKey, Start::kNarrow, kAlways, "layers.#.attention.wk.weight",
         "model.layers.#.self_attn.k_proj.weight", "layers.#.attention.wk.weight",
         "layers.#.attention.qkv_linear.wk.weight", "blk.#.attn_k.weight"),
    kind(Part::kKeyBias, Extent::kKeys, Extent::kNone, Rows::kKey, Start::kZeros, kQkvBias,
         "layers.#.attention.wk.bias", "model.layers.#.self_attn.k_proj.bias", "",
         "layers.#.attention.qkv_linear.wk.bias", "blk.#.attn_k.bias"),
    kind(Part::kValue, Extent::kKeys, Extent::kWidth, Rows::kStay, Start::kNarrow, kAlways,
         "layers.#.attention.wv.weight", "model.layers.#.self_attn.v_proj.weight", "layers.#.attention.wv.weight",
         "layers.#.attention.qkv_linear.wv.weight", "blk.#.attn_v.weight"),
    kind(Part::kValueBias, Extent::kKeys, Extent::kNone, Rows::kStay, Start::kZeros, kQkvBias,
         "layers.#.attention.wv.bias", "model.layers.#.self_attn.v_proj.bias", "",
         "layers.#.attention.qkv_linear.wv.bias", "blk.#.attn_v.bias"),
    kind(Part::kAttentionOut, Extent::kWidth, Extent::kQueries, Rows::kStay, Start::kByDepth, kAlways,
         "layers.#.attention.wo.weight", "model.layers.#.self_attn.o_proj.weight", "layers.#.attention.wo.weight", "",
         "blk.#.attn_output.weight"),
    kind(Part::kGate, Extent::kInner, Extent::kWidth, Rows::kStay, Start::kNarrow, kDense,
         "layers.#.feed_forward.w1.weight", "model.layers.#.mlp.gate_proj.weight", "layers.#.feed_forward.w1.weight",
         "", "blk.#.ffn_gate.weight"),
    kind(Part::kDown, Extent::kWidth, Extent::kInner, Rows::kStay, Start::kByDepth, kDense,
         "layers.#.feed_forward.w2.weight", "model.layers.#.mlp.down_proj.weight", "layers.#.feed_forward.w2.weight",
         "", "blk.#.ffn_down.weight"),
    kind(Part::kUp, Extent::kInner, Extent::kWidth, Rows::kStay, Start::kByDepth, kDense,
         "layers.#.feed_forward.w3.weight", "model.layers.#.mlp.up_proj.weight", "layers.#.feed_forward.w3.weight", "",
         "blk.#.ffn_up.weight"),
    kind(Part::kRouter, Extent::kExperts, Extent::kWidth, Rows::kStay, Start::kByDepth, kExperts,
         "layers.#.moe.router.gate.weight", "model.layers.#.mlp.gate.weight", "", "", "",
         "model.layers.#.block_sparse_moe.gate.weight"),
    kind(Part::kExpertGate, Extent::kInner, Extent::kWidth, Rows::kStay, Start::kNarrow, kExperts,
         "layers.#.moe.experts.@.w1.weight", "model.layers.#.mlp.experts.@.gate_proj.weight", "", "", "",
         "model.layers.#.block_sparse_moe.experts.@.w1.weight"),
    kind(Part::kExpertDown, Extent::kWidth, Extent::kInner, Rows::kStay, Start::kByDepth, kExperts,
         "layers.#.moe.experts.@.w2.weight", "model.layers.#.mlp.experts.@.down_proj.weight", "", "", "",
         "model.layers.#.block_sparse_moe.experts.@.w2.weight"),
    kind(Part::kExpertUp, Extent::kInner, Extent::kWidth, Rows::kStay, Start::kByDepth, kExperts,
         "layers.#.moe.experts.@.w3.weight", "model.layers.#.mlp.experts.@.up_proj.weight", "", "", "",
         "model.layers.#.block_sparse_moe.experts.@.w3.weight"),
    kind(Part::kAttentionNorm, Extent::kWidth, Extent::kNone, Rows::kStay, Start::kOnes, kPreNorm,
         "layers.#.attention_norm.weight", "model.layers.#.input_layernorm.weight", "layers.#.attention_norm.weight",
         "", "blk.#.attn_norm.weight"),
    kind(Part::kFeedForwardNorm, Extent::kWidth, Extent::kNone, Rows::kStay, Start::kOnes, kPreNorm,
         "layers.#.ffn_norm.weight", "model.layers.#.post_attention_layernorm.weight", "layers.#.ffn_norm.weight", "",
         "blk.#.ffn_norm.weight"),
    kind(Part::kAttentionPostNorm, Extent::kWidth, Extent::kNone, Rows::kStay, Start::kOnes, kPostNorm,
         "layers.#.attention_post_norm.weight", "model.layers.#.post_attention_layernorm.weight", "", "", ""),
    kind(Part::kFeedForwardPostNorm, Extent::kWidth, Extent::kNone, Rows::kStay, Start::kOnes, kPostNorm,
         "layers.#.ffn_post_norm.weight", "model.layers.#.post_feedforward_layernorm.weight", "", "", ""),
    kind(Part::kFinalNorm, Extent::kWidth, Extent::kNone, Rows::kStay, Start::kOnes, kAlways, kFinalNormName,
         "model.norm.weight", kFinalNormName, "", "output_norm.weight"),
    kind(Part::kHead, Extent::kVocabulary, Extent::kWidth, Rows::kStay, Start::kHead, kAlways, kHeadName,
         kHuggingfaceHead, kHeadName, kHuggingfaceHead, "output.weight"),
};
static_assert(std::size(kKinds) == kParts);
static_assert(std::ranges::is_sorted(kKinds, {}, &ParameterKind::part));

}  // namespace

bool ParameterKind::is_in(const ModelDims& dims) const {
  return (only_with == nullptr || dims.*only_with) && (only_without == nullptr || !(dims.*only_without));
}

std::span<const ParameterKind> parameter_kinds() { return kKinds; }

const ParameterKind& kind_of(Part part) { return kKinds[static_cast<std::size_t>(part)]; }

std::vector<const ParameterKind*> layer_kinds(const ModelDims& dims) {
  std::vector<const ParameterKind*> kinds;
  for (const ParameterKind& kind : kKinds)
    if (kind.in_layer() && kind.is_in(dims)) kinds.push_back(&kind);
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
    case Extent::kQueryNorm: return size((dims.whole_qk_norm ? dims.n_heads : 1) * dims.head_dim);
    case Extent::kKeyNorm: return size((dims.whole_qk_norm ? dims.n_kv_heads : 1) * dims.head_dim);
    case Extent::kInner: return size(dims.ffn_dim);
    case Extent::kExperts: return size(dims.n_experts);
  }
  return 0;
}

std::vector<std::uint64_t> shape_of(const ParameterKind& kind, const ModelDims& dims) {
  std::vector<std::uint64_t> shape;
  for (const Extent e : kind.extents)
    if (e != Extent::kNone) shape.push_back(extent(e, dims));
  return shape;
}

std::uint64_t count_of(const ParameterKind& kind, const ModelDims& dims) {
  return kind.of_expert() ? extent(Extent::kExperts, dims) : 1;
}

std::uint64_t layer_elements(const ModelDims& dims) {
  std::uint64_t sum = 0;
  for (const ParameterKind* kind : layer_kinds(dims))
    sum += count_of(*kind, dims) * extent(kind->extents[0], dims) * extent(kind->extents[1], dims);
  return sum;
}

std::uint64_t multiplied_elements(const ModelDims& dims) {
  std::uint64_t sum = 0;
  for (const ParameterKind* kind : layer_kinds(dims)) {
    if (!kind->is_matrix()) continue;
    const std::uint64_t used = kind->of_expert() ? static_cast<std::uint64_t>(dims.experts_per_token) : 1;
    sum += used * extent(kind->extents[0], dims) * extent(kind->extents[1], dims);
  }
  return sum;
}

std::uint64_t inactive_elements(const ModelDims& dims) {
  std::uint64_t sum = 0;
  for (const ParameterKind* kind : layer_kinds(dims))
    if (kind->of_expert())
      sum += static_cast<std::uint64_t>(dims.n_experts - dims.experts_per_token) * extent(kind->extents[0], dims) *
             extent(kind->extents[1], dims);
  return sum * static_cast<std::uint64_t>(dims.n_layers);
}

std::int64_t mean_seen(const ModelDims& dims, std::int64_t seq_len) {
  std::int64_t windowed = dims.n_layers;
  if (!dims.window.layers.empty()) windowed = 0;
  for (const ckpt::SampleRange& range : dims.window.layers) windowed += static_cast<std::int64_t>(range.count);
  const std::int64_t seen = dims.window.tokens == 0 ? seq_len : std::min(dims.window.tokens, seq_len);
  return windowed == 0 ? seq_len : (windowed * seen + (dims.n_layers - windowed) * seq_len) / dims.n_layers;
}

std::string name_of(Part part, std::uint64_t layer, std::uint64_t expert) {
  const std::string of_layer = std::to_string(layer), of_expert = std::to_string(expert);
  return filled_pattern(kind_of(part).ours, {of_layer, of_expert});
}

std::optional<NamedPart> part_of(std::string_view name) {
  const auto number = [](std::string_view digits) { return std::stoull(std::string(digits)); };
  PatternDigits digits;
  for (const ParameterKind& kind : kKinds) {
    if (!fits_pattern(name, kind.ours, digits)) continue;
    return NamedPart{&kind, kind.in_layer() ? number(digits.layer) : 0, kind.of_expert() ? number(digits.expert) : 0};
  }
  return std::nullopt;
}

bool fits_pattern(std::string_view name, std::string_view pattern, PatternDigits& digits) {
  constexpr std::size_t kMostDigits = 9;
  while (true) {
    const std::size_t mark = pattern.find_first_of("#@");
    if (mark == std::string_view::npos) return name == pattern;
    if (!name.starts_with(pattern.substr(0, mark))) return false;
    name.remove_prefix(mark);
    const std::string_view number = name.substr(0, name.find_first_not_of("0123456789"));
    if (number.empty() || number.size() > kMostDigits || (number.size() > 1 && number[0] == '0')) return false;
    (pattern[mark] == '#' ? digits.layer : digits.expert) = number;
    name.remove_prefix(number.size());
    pattern.remove_prefix(mark + 1);
  }
}

std::string filled_pattern(std::string_view pattern, const PatternDigits& digits) {
  std::string text(pattern);
  if (const std::size_t mark = text.find('#'); mark != std::string::npos) text.replace(mark, 1, digits.layer);
  if (const std::size_t mark = text.find('@'); mark != std::string::npos) text.replace(mark, 1, digits.expert);
  return text;
}

}  // namespace titan::recipe
