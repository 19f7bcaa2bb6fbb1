#pragma once
// torchtitan 0.3.0 trains the query, key and value projections as one tensor, `wqkv`. When it saves, it splits the
// weights of `wqkv`, but not the moments. \source torchtitan 0.3.0, models/common/attention.py, FusedQKVLinear
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "ckpt/model/tensor_meta.h"
#include "converters/format.h"

namespace titan::convert::dcp {

/// One of Titan's parameters in a fused projection.
struct FusedPart {
  std::string parameter;  ///< under Titan's name
  RowBlocks blocks;       ///< its rows in the fused tensor
};

/// Whether `name` is the name of a fused projection: "layers.0.attention.qkv_linear.wqkv.weight".
bool is_fused_qkv(const std::string& name);
/// The parts of the fused projection `name`: queries, keys, values; empty for other names. For each key head, the
/// tensor has the rows of its `group` query heads, then those of the key head, then those of the value head.
/// `head_dim`: rows of a head; if it is 0, FusedPart::blocks are not set.
std::vector<FusedPart> fused_parts(const std::string& name, std::uint64_t group, std::uint64_t head_dim);

/// The shape of a fused tensor. Its rows are `kv_heads` blocks, one per key head. Each block has rows of queries, then
/// of keys, then of values.
struct FusedShape {
  std::vector<std::uint64_t> shape;
  std::uint64_t kv_heads = 0;
};
/// The shape of the fused tensor `name` of `parts` (queries, keys and values), with heads of `head_dim` rows (0: not
/// known). `path` names the checkpoint in messages. \error kIncompatible: the head size is not known, or the rows do
/// not form whole heads, with one value head and the same number of query heads for each key head
ckpt::Result<FusedShape> fused_shape(const std::string& path, const std::string& name,
                                     const std::vector<ckpt::ParameterMeta>& parts, std::uint64_t head_dim);
/// The name of the fused projection that contains Titan's parameter `name`; nullopt for other parameters.
std::optional<std::string> fused_home(const std::string& name);

}  // namespace titan::convert::dcp
