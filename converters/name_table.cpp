#include "converters/name_table.h"

#include <algorithm>

namespace titan::convert {

using recipe::ParameterKind;

std::optional<MappedName> NameTable::ours(std::string_view theirs) const {
  std::string_view layer;
  for (const ParameterKind& kind : recipe::parameter_kinds())
    if (!(kind.*column_).empty() && recipe::fits_pattern(theirs, kind.*column_, layer))
      return MappedName{recipe::filled_pattern(kind.ours, layer), moves_ ? kind.rows : Rows::kStay};
  return std::nullopt;
}

std::optional<MappedName> NameTable::theirs(std::string_view ours) const {
  std::string_view layer;
  for (const ParameterKind& kind : recipe::parameter_kinds())
    if (!(kind.*column_).empty() && recipe::fits_pattern(ours, kind.ours, layer))
      return MappedName{recipe::filled_pattern(kind.*column_, layer), moves_ ? kind.rows : Rows::kStay};
  return std::nullopt;
}

bool NameTable::derivable(std::string_view theirs) const {
  std::string_view layer;
  return std::ranges::any_of(derivable_,
                             [&](std::string_view pattern) { return recipe::fits_pattern(theirs, pattern, layer); });
}

const NameTable& huggingface_names() {
  static const NameTable table(&ParameterKind::huggingface, /*moves=*/true,
                               {"model.layers.#.self_attn.rotary_emb.inv_freq", "model.rotary_emb.inv_freq"});
  return table;
}

const NameTable& mistral_names() {
  static const NameTable table(&ParameterKind::mistral, /*moves=*/false);
  return table;
}

const NameTable& gguf_tensor_names() {
  static const NameTable table(&ParameterKind::gguf, /*moves=*/true, {"rope_freqs.weight"});
  return table;
}

const NameTable& torchtitan_names() {
  static const NameTable table(&ParameterKind::newer, /*moves=*/false, {"freqs_cis", "rope.cache", "rope_cache"});
  return table;
}

}  // namespace titan::convert
