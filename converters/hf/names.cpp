#include "converters/hf/names.h"

#include <algorithm>

namespace titan::convert {
namespace {

struct Pair {
  std::string_view hf, titan;  // "#" stands for the number of the layer
  Rows rows = Rows::kStay;
};
constexpr Pair kPairs[] = {
    {"model.embed_tokens.weight", "tok_embeddings.weight"},
    {"model.layers.#.self_attn.q_proj.weight", "layers.#.attention.wq.weight", Rows::kQuery},
    {"model.layers.#.self_attn.q_proj.bias", "layers.#.attention.wq.bias", Rows::kQuery},
    {"model.layers.#.self_attn.k_proj.weight", "layers.#.attention.wk.weight", Rows::kKey},
    {"model.layers.#.self_attn.k_proj.bias", "layers.#.attention.wk.bias", Rows::kKey},
    {"model.layers.#.self_attn.v_proj.weight", "layers.#.attention.wv.weight"},
    {"model.layers.#.self_attn.v_proj.bias", "layers.#.attention.wv.bias"},
    {"model.layers.#.self_attn.o_proj.weight", "layers.#.attention.wo.weight"},
    {"model.layers.#.mlp.gate_proj.weight", "layers.#.feed_forward.w1.weight"},
    {"model.layers.#.mlp.down_proj.weight", "layers.#.feed_forward.w2.weight"},
    {"model.layers.#.mlp.up_proj.weight", "layers.#.feed_forward.w3.weight"},
    {"model.layers.#.input_layernorm.weight", "layers.#.attention_norm.weight"},
    {"model.layers.#.post_attention_layernorm.weight", "layers.#.ffn_norm.weight"},
    {"model.norm.weight", "norm.weight"},
    {"lm_head.weight", "output.weight"},
};
constexpr std::string_view kDerivable[] = {"model.layers.#.self_attn.rotary_emb.inv_freq", "model.rotary_emb.inv_freq"};

// Matches `name` with `pattern`; the layer's digits go to `layer`. Only the canonical spelling of a number does.
bool matches(std::string_view name, std::string_view pattern, std::string_view& layer) {
  const std::size_t mark = pattern.find('#');
  if (mark == std::string_view::npos) return name == pattern;
  const std::string_view before = pattern.substr(0, mark), after = pattern.substr(mark + 1);
  if (name.size() <= before.size() + after.size() || !name.starts_with(before) || !name.ends_with(after)) return false;
  layer = name.substr(before.size(), name.size() - before.size() - after.size());
  return layer.size() <= 9 && std::ranges::all_of(layer, [](char c) { return c >= '0' && c <= '9'; }) && (layer.size() == 1 || layer[0] != '0');
}

std::string filled(std::string_view pattern, std::string_view layer) {
  std::string text(pattern);
  if (const std::size_t mark = text.find('#'); mark != std::string::npos) text.replace(mark, 1, layer);
  return text;
}

std::optional<MappedName> map(std::string_view name, std::string_view Pair::* from, std::string_view Pair::* to) {
  std::string_view layer;
  for (const Pair& pair : kPairs)
    if (matches(name, pair.*from, layer)) return MappedName{filled(pair.*to, layer), pair.rows};
  return std::nullopt;
}

}  // namespace

std::optional<MappedName> titan_name(std::string_view hf) { return map(hf, &Pair::hf, &Pair::titan); }
std::optional<MappedName> hf_name(std::string_view titan) { return map(titan, &Pair::titan, &Pair::hf); }

bool derivable(std::string_view hf) {
  std::string_view layer;
  return std::ranges::any_of(kDerivable, [&](std::string_view pattern) { return matches(hf, pattern, layer); });
}

}  // namespace titan::convert
