#include "recipe/model/parameters.h"

#include "recipe/model/family.h"

namespace titan::recipe {

std::vector<ckpt::ParameterMeta> model_parameters(const ModelDims& dims) {
  std::vector<ckpt::ParameterMeta> list;
  const auto add = [&](const ParameterKind& kind, std::int64_t layer, std::uint64_t expert = 0) {
    list.push_back({name_of(kind.part, static_cast<std::uint64_t>(layer), expert), shape_of(kind, dims)});
  };
  const std::vector<const ParameterKind*> of_layer = layer_kinds(dims);
  add(kind_of(Part::kEmbedding), 0);
  for (std::int64_t layer = 0; layer < dims.n_layers; ++layer)
    for (std::size_t i = 0; i < of_layer.size();) {
      // The parameters of experts are consecutive in the table: write all of one expert, then all of the next.
      std::size_t end = i + 1;
      while (of_layer[i]->of_expert() && end < of_layer.size() && of_layer[end]->of_expert()) ++end;
      for (std::uint64_t expert = 0; expert < count_of(*of_layer[i], dims); ++expert)
        for (std::size_t j = i; j < end; ++j) add(*of_layer[j], layer, expert);
      i = end;
    }
  add(kind_of(Part::kFinalNorm), 0);
  if (!dims.tied) add(kind_of(Part::kHead), 0);
  return list;
}

}  // namespace titan::recipe
