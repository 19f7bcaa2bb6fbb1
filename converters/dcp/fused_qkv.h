#pragma once
// torchtitan 0.3.0 trains the projections of queries, keys and values as one, `wqkv`: its weights are taken apart when
// they are saved, its moments are not.
// \source torchtitan 0.3.0, models/common/attention.py, FusedQKVLinear
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "ckpt/model/tensor_meta.h"
#include "converters/format.h"

namespace titan::convert::dcp {

struct FusedPart {
  std::string parameter;  ///< under our name
  RowBlocks blocks;       ///< its rows
};

/// Whether `name` is that of a fused projection: "layers.0.attention.qkv_linear.wqkv.weight".
bool is_fused_qkv(const std::string& name);
/// Its parts, queries first; nothing for other names. For each head of keys lie the rows of its `group` heads of
/// queries, then its own, then those of values. `head_dim`: rows of a head; 0 says nothing of rows.
std::vector<FusedPart> fused_parts(const std::string& name, std::uint64_t group, std::uint64_t head_dim);

/// A fused tensor of three of ours: `turns` times a share of each, queries first.
struct FusedShape {
  std::vector<std::uint64_t> shape;
  std::uint64_t turns = 0;
};
/// `parts`: queries, keys and values of the fused tensor `name`, of heads of `head_dim` rows (0: not known). `path`
/// names the checkpoint. \error kIncompatible: heads that are not known, or that rows do not divide into
ckpt::Result<FusedShape> fused_shape(const std::string& path, const std::string& name,
                                     const std::vector<ckpt::ParameterMeta>& parts, std::uint64_t head_dim);
/// The fused projection that our parameter `name` lies in; nothing for other parameters.
std::optional<std::string> fused_home(const std::string& name);

}  // namespace titan::convert::dcp
