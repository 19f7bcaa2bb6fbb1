#pragma once
// torchtitan 0.3.0 trains the projections of queries, keys and values as one, `wqkv`: its weights are taken apart when
// they are saved, its moments are not.
// \source torchtitan 0.3.0, models/common/attention.py, FusedQKVLinear
#include <cstdint>
#include <string>
#include <vector>

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

}  // namespace titan::convert::dcp
