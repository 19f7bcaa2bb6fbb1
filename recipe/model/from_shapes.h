#pragma once
// The dimensions of a model, as far as the shapes of its tensors show them. Pure.
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "ckpt/model/settings.h"
#include "ckpt/read/weight_source.h"
#include "recipe/model/dims.h"

namespace titan::recipe {

using Shapes = std::map<std::string, std::vector<std::uint64_t>>;  ///< shapes by parameter name

/// What the shapes show.
struct ShownModel {
  /// These members are set: dim, n_layers, ffn_dim, vocab_size, n_experts (0: not known), the switches other than
  /// route_norm, and head_dim if queries and keys have a norm within each head.
  ModelDims dims;
  std::int64_t query_rows = 0, key_rows = 0;  ///< rows of queries and keys in layer 0: a multiple of head_dim
};
/// Reads the dimensions from the shapes of parameters with Titan's names.
ShownModel dims_from_shapes(const Shapes& shapes);

/// The rows "model.*" of a checkpoint, with missing ones added from the shapes of its tensors. If the number of query
/// heads is known (from the rows, from the size of query and key norms, or from `n_heads`), head_dim and n_kv_heads are
/// added too.
ckpt::Settings known_model(const ckpt::Settings& rows, const std::vector<ckpt::WeightInfo>& tensors,
                           std::optional<std::int64_t> n_heads = {});

}  // namespace titan::recipe
