#include "recipe/model/parameters.h"

#include "recipe/model/family.h"

namespace titan::recipe {

std::vector<ckpt::ParameterMeta> model_parameters(const ModelDims& dims) {
  std::vector<ckpt::ParameterMeta> list;
  const auto add = [&](const ParameterKind& kind, std::int64_t layer) {
    list.push_back({name_of(kind.part, static_cast<std::uint64_t>(layer)), shape_of(kind, dims)});
  };
  const std::vector<const ParameterKind*> of_layer = layer_kinds(dims);
  add(kind_of(Part::kEmbedding), 0);
  for (std::int64_t layer = 0; layer < dims.n_layers; ++layer)
    for (const ParameterKind* kind : of_layer) add(*kind, layer);
  add(kind_of(Part::kFinalNorm), 0);
  if (!dims.tied) add(kind_of(Part::kHead), 0);
  return list;
}

}  // namespace titan::recipe
