#pragma once
// Decides how many heads each backward call of flash attention gets. Pure.
#include <cstdint>
#include <vector>

namespace titan::train {

/// The shape of one backward.
struct AttentionShape {
  std::int64_t batch = 1, heads = 1, tokens = 1;
  std::int64_t group = 1;  ///< query heads that share a key and a value; all of them are in the same call
};

/// The number of query heads in each call of flash attention's deterministic backward. The kernel divides the keys of
/// each head among ceil(multiprocessors / (batch x heads)) blocks: 32 heads of one sequence on 132 multiprocessors make
/// 32 x 5 = 160 blocks, so 28 blocks run in a second wave that leaves most of the GPU idle. Calls with fewer heads,
/// whose blocks fit into one wave, together finish sooner, although each call then has to sum the gradients of its
/// blocks. \source Dao-AILab/flash-attention, csrc/flash_attn/src/flash_bwd_launch_template.h
std::vector<std::int64_t> heads_per_call(const AttentionShape& shape, std::int64_t multiprocessors);

}  // namespace titan::train
