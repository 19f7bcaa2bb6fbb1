#include "converters/name_map.h"

#include <algorithm>

namespace titan::convert {

using recipe::ParameterKind;

NameMap NameMap::of(const recipe::ModelDims& model) const {
  NameMap table = *this;
  table.model_ = model;
  return table;
}

bool NameMap::is_mixtral(const ParameterKind& kind) const {
  // Qwen3-MoE has norms of heads, Mixtral does not.
  return model_ && !model_->qk_norm && column_ == &ParameterKind::huggingface && !kind.mixtral.empty();
}

std::string_view NameMap::name_of(const ParameterKind& kind) const {
  if (model_ && !kind.is_in(*model_)) return {};
  return is_mixtral(kind) ? kind.mixtral : kind.*column_;
}

std::optional<MappedName> NameMap::ours(std::string_view theirs) const {
  recipe::PatternDigits digits;
  for (const ParameterKind& kind : recipe::parameter_kinds()) {
    const std::string_view name = name_of(kind);
    // The state dict of transformers 5 uses Qwen3-MoE's names, also for Mixtral.
    const bool fits = !name.empty() && (recipe::fits_pattern(theirs, name, digits) ||
                                        (is_mixtral(kind) && recipe::fits_pattern(theirs, kind.*column_, digits)));
    if (fits) return MappedName{recipe::filled_pattern(kind.ours, digits), moves_ ? kind.rows : Rows::kStay};
  }
  return std::nullopt;
}

std::optional<MappedName> NameMap::theirs(std::string_view ours) const {
  recipe::PatternDigits digits;
  for (const ParameterKind& kind : recipe::parameter_kinds())
    if (const std::string_view name = name_of(kind); !name.empty() && recipe::fits_pattern(ours, kind.ours, digits))
      return MappedName{recipe::filled_pattern(name, digits), moves_ ? kind.rows : Rows::kStay};
  return std::nullopt;
}

bool NameMap::derivable(std::string_view theirs) const {
  recipe::PatternDigits digits;
  return std::ranges::any_of(derivable_,
                             [&](std::string_view pattern) { return recipe::fits_pattern(theirs, pattern, digits); });
}

const NameMap& huggingface_names() {
  static const NameMap table(&ParameterKind::huggingface, /*moves=*/true,
                             {"model.layers.#.self_attn.rotary_emb.inv_freq", "model.rotary_emb.inv_freq"});
  return table;
}

const NameMap& mistral_names() {
  static const NameMap table(&ParameterKind::mistral, /*moves=*/false);
  return table;
}

const NameMap& gguf_tensor_names() {
  static const NameMap table(&ParameterKind::gguf, /*moves=*/true, {"rope_freqs.weight"});
  return table;
}

const NameMap& torchtitan_names() {
  static const NameMap table(&ParameterKind::newer, /*moves=*/false, {"freqs_cis", "rope.cache", "rope_cache"});
  return table;
}

}  // namespace titan::convert
