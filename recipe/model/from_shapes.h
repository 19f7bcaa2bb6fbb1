#pragma once
// What the shapes of a model's tensors show of its dimensions. Pure.
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "ckpt/model/settings.h"
#include "ckpt/read/weight_source.h"
#include "recipe/model/dims.h"

namespace titan::recipe {

using Shapes = std::map<std::string, std::vector<std::uint64_t>>;  ///< by the parameter's name

struct ShownModel {
  /// dim, n_layers, ffn_dim, vocab_size (0: not shown), head_dim where heads have norms, and switches.
  ModelDims dims;
  std::int64_t query_rows = 0, key_rows = 0;  ///< of layer 0; whole heads
};
ShownModel dims_from_shapes(const Shapes& shapes);

/// The rows "model.*" of a checkpoint. Rows that it lacks come from the shapes of its tensors. If the number of query
/// heads is known (from the rows, else `n_heads`), head_dim and n_kv_heads are among them.
ckpt::Settings known_model(const ckpt::Settings& rows, const std::vector<ckpt::WeightInfo>& tensors,
                           std::optional<std::int64_t> n_heads = {});

}  // namespace titan::recipe
