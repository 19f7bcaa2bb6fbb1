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

/// The number of query heads in each call of flash attention's deterministic backward. The kernel divides a head's keys
/// among the number of blocks that fills a GPU with `multiprocessors` once, rounded up: 32 heads on 132 multiprocessors
/// make 160 blocks, and a second wave that leaves most of the GPU idle. Calls whose blocks fit finish sooner, although
/// each sums its parts separately. \source Dao-AILab/flash-attention, csrc/flash_attn/src/flash_bwd_launch_template.h
std::vector<std::int64_t> head_pieces(const AttentionShape& shape, std::int64_t multiprocessors);

}  // namespace titan::train
