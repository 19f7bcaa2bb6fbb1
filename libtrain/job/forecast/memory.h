#pragma once
// Training memory of a rank, by term, in bytes. Weights, optimizer state and exchange buffers are exact; gradients,
// activations and transfers are estimates of the peak of this trainer's own functions. Memory of the libraries is not
// included.
#include <cstdint>
#include <span>

#include "libtrain/job/reduction/exchange_plan.h"
#include "libtrain/job/schedule/schedule.h"
#include "recipe/model/dims.h"

namespace titan::recipe {
struct RunPlan;
}

namespace titan::train {

/// Limit on free pages: pages in use and those that TensorMemory (libtrain/engine/device/tensor_memory.h) keeps for
/// reuse together exceed the peak use by at most 1/kMemorySlack of that peak. With this limit pages that are needed
/// again are rarely returned.
inline constexpr std::size_t kMemorySlack = 32;

struct RankMemory {
  std::uint64_t weights = 0;      ///< compute weights; with bf16 copies, also the fp32 master weights that the rank
                                  ///< owns
  std::uint64_t gradients = 0;    ///< fp32 sums of the canonical tree, at the peak of sums and activations together
  std::uint64_t optimizer = 0;    ///< both moments and the average of training.ema, for the rank that owns most
  std::uint64_t activations = 0;  ///< of the micro-batches in flight at that peak, with temporaries
  std::uint64_t exchange = 0;     ///< buffers for gradients and weights sent between data-parallel ranks
  std::uint64_t transfers = 0;    ///< hidden states and their gradients in transit between stages
  std::uint64_t slack = 0;        ///< free pages that the allocator of tensors keeps
  std::uint64_t tensors() const { return weights + gradients + optimizer + activations + exchange + transfers; }
  std::uint64_t total() const { return tensors() + slack; }
  bool operator==(const RankMemory&) const = default;
};

/// Bytes per token that one decoder layer keeps for its backward: fused attention, nothing recomputed.
std::uint64_t layer_activation_bytes(const recipe::ModelDims& dims, bool bf16);
/// Additional bytes per token that a layer keeps without a fused attention kernel: the attention probabilities of each
/// head, and per-head fp32 copies of queries, keys and values. \source LibTorch's _scaled_dot_product_attention_math
std::uint64_t score_bytes(const recipe::ModelDims& dims, std::int64_t seq_len, bool bf16);
/// Bytes per token that final norm, head and loss keep.
std::uint64_t head_activation_bytes(const recipe::ModelDims& dims, bool bf16);
/// Bytes per token needed in addition while the loss or its gradient is computed.
std::uint64_t logits_bytes(const recipe::ModelDims& dims, bool bf16);

/// Maximum number of gradient sums in memory while the micro-batches of `block` are added, in order, to the tree over
/// 0..count-1.
std::uint32_t peak_gradient_sums(std::uint32_t count, Node block);

/// Memory of pipeline rank `pp_rank`, for the data-parallel rank that needs most. `row` has this pipeline rank's
/// actions in a step, for the data-parallel rank with the most micro-batches; it is empty if the step is too long to be
/// simulated. `in_flight`: the most pairs of stage and micro-batch between forward and backward.
RankMemory rank_memory(const recipe::RunPlan& plan, std::uint32_t pp_rank, std::span<const Action> row,
                       std::uint32_t in_flight);
/// As above, for a given ownership of the plan, which takes long to compute for thousands of ranks.
RankMemory rank_memory(const recipe::RunPlan& plan, const ckpt::Ownership& ownership, std::uint32_t pp_rank,
                       std::span<const Action> row, std::uint32_t in_flight);

/// The part of the model on a stage, from the plan's cuts: layers [first_layer, end_layer).
struct StageParts {
  std::int64_t first_layer = 0, end_layer = 0;
  bool embedding = false, head = false;
  bool operator==(const StageParts&) const = default;
};
StageParts stage_parts(const recipe::RunPlan& plan, std::uint32_t stage);

}  // namespace titan::train
