#include "libtrain/checkpoint/owned_leaves.h"

#include <ATen/ATen.h>

namespace titan::train {

std::span<const std::byte> leaf_bytes(const ShardedAdamW::State& state, const std::string& slot,
                                      const ckpt::LeafGrid& grid, std::uint64_t leaf) {
  const at::Tensor& flat = slot.empty() ? state.param : slot == ckpt::kExpAvg ? state.exp_avg : state.exp_avg_sq;
  const std::uint64_t begin = grid.begin(leaf) - grid.begin(state.piece.leaves.first);
  return {reinterpret_cast<const std::byte*>(flat.const_data_ptr<float>() + begin), grid.length(leaf) * sizeof(float)};
}

}  // namespace titan::train
