#include "libtrain/engine/checkpoint/owned_leaves.h"

#include <ATen/ATen.h>

#include "ckpt/read/ema.h"

namespace titan::train {

at::Tensor leaf_values(const ShardedAdamW::State& state, const std::string& slot, const ckpt::LeafGrid& grid,
                       std::uint64_t leaf) {
  const at::Tensor& flat = slot.empty()            ? state.param
                           : slot == ckpt::kExpAvg ? state.exp_avg
                           : slot == ckpt::kEma    ? state.ema
                                                   : state.exp_avg_sq;
  const std::uint64_t begin = grid.begin(leaf) - grid.begin(state.piece.leaves.first);
  return flat.narrow(0, static_cast<std::int64_t>(begin), static_cast<std::int64_t>(grid.length(leaf)));
}

}  // namespace titan::train
