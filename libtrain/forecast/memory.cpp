#include "libtrain/forecast/memory.h"

#include <algorithm>
#include <bit>
#include <set>

#include "ckpt/plan/ownership.h"
#include "libtrain/reduce/stage_exchange.h"

namespace titan::train {
namespace {

constexpr std::uint32_t kCounted = 1 << 16;

std::uint64_t size(std::int64_t value) { return static_cast<std::uint64_t>(value); }

/// fp32 numbers of the data-parallel rank that owns most of the stage.
struct Owned {
  std::uint64_t moments = 0, masters = 0;
};
Owned largest_share(const recipe::RunPlan& plan, const ckpt::Ownership& ownership, std::uint32_t stage) {
  Owned most;
  for (std::uint32_t rank = stage * plan.mesh.dp; rank < (stage + 1) * plan.mesh.dp; ++rank) {
    Owned owned;
    for (const ckpt::OwnedPiece& piece : ownership.of(rank)) {
      const ckpt::LeafGrid grid = plan.parameters[piece.parameter].grid(plan.leaf_elements);
      const std::uint64_t elements = grid.begin(piece.leaves.end()) - grid.begin(piece.leaves.first);
      owned.moments += 2 * elements;
      // What is computed with in fp32 is its own master.
      if (compute_width(plan, piece.parameter) != 4) owned.masters += elements;
    }
    if (owned.moments + owned.masters > most.moments + most.masters) most = owned;
  }
  return most;
}

}  // namespace

// What the functions of libtrain/model/functions keep; a test compares it with what a forward leaves allocated.
std::uint64_t layer_activation_bytes(const recipe::ModelDims& dims, bool bf16) {
  const std::uint64_t h = size(dims.dim), q = size(dims.n_heads * dims.head_dim),
                      kv = size(dims.n_kv_heads * dims.head_dim), ff = size(dims.ffn_dim);
  const std::uint64_t statistics = 4 * size(dims.n_heads) + 8;  // of attention and both norms
  return (bf16 ? 2 : 4) * (4 * h + 2 * q + 2 * kv + 2 * ff) + statistics;
}

// What comes into the norm, what goes out, and its gradient, for head and loss are computed forward and backward at
// once.
std::uint64_t head_activation_bytes(const recipe::ModelDims& dims, bool bf16) {
  constexpr std::uint64_t kStatistic = 4;
  return (bf16 ? 6 : 12) * size(dims.dim) + kStatistic;
}

// Logits, under bf16 in both dtypes, and log-probabilities.
std::uint64_t logits_bytes(const recipe::ModelDims& dims, bool bf16) { return (bf16 ? 10 : 8) * size(dims.vocab_size); }

std::uint32_t peak_gradient_sums(std::uint32_t count, Node block) {
  // A block is cut into few nodes, each of them as wide as its depth: beyond this size the bound is close enough.
  if (block.hi - block.lo > kCounted) return static_cast<std::uint32_t>(std::bit_width(block.hi - block.lo)) + 1;
  std::set<Node> alive;
  std::size_t peak = 0;
  for (std::uint32_t micro_batch = block.lo; micro_batch < block.hi; ++micro_batch) {
    peak = std::max(peak, alive.size() + 1);
    Node node{micro_batch, micro_batch + 1};
    for (Node above = parent(count, node); above != node && block.contains(above); above = parent(count, node)) {
      const Node sibling = node == above.left() ? above.right() : above.left();
      if (alive.erase(sibling) == 0) break;
      node = above;
    }
    alive.insert(node);
  }
  return static_cast<std::uint32_t>(peak);
}

StageParts stage_parts(const recipe::RunPlan& plan, std::uint32_t stage) {
  // Groups: 0 embedding, 1..L layers, L+1 head.
  const std::int64_t head_group = plan.dims.n_layers + 1;
  const std::int64_t begin = stage == 0 ? 0 : plan.stage_cuts.at(stage - 1);
  const std::int64_t end = stage < plan.stage_cuts.size() ? plan.stage_cuts[stage] : head_group + 1;
  return {std::max<std::int64_t>(begin, 1) - 1, std::min(end, head_group) - 1, begin == 0, end == head_group + 1};
}

RankMemory rank_memory(const recipe::RunPlan& plan, std::uint32_t pp_rank, std::uint32_t in_flight) {
  std::vector<StageParts> stages;
  for (std::uint32_t chunk = 0; chunk < plan.chunks; ++chunk)
    stages.push_back(stage_parts(plan, plan.stage_of_chunk(pp_rank, chunk)));
  const bool embedding = stages.front().embedding, head = stages.back().head;
  const std::uint64_t table = size(plan.dims.vocab_size * plan.dims.dim);
  const bool tied_head = plan.dims.tied && head;
  const ckpt::Ownership ownership(plan.parameters, plan.leaf_elements, plan.mesh);
  const Owned owned = largest_share(plan, ownership, pp_rank);

  RankMemory memory;
  std::uint64_t elements = 0;
  for (std::uint32_t i = 0; i < plan.parameters.size(); ++i) {
    if (plan.parameters[i].stage != pp_rank) continue;
    const std::uint64_t count = ckpt::element_count(plan.parameters[i].shape);
    elements += count;
    memory.weights += size(compute_width(plan, i)) * count;
  }
  // A tied head beside its embedding is the same tensor in fp32.
  if (tied_head && (plan.bf16 || !embedding || plan.chunks > 1)) memory.weights += (plan.bf16 ? 2 : 4) * table;
  memory.weights += 4 * owned.masters;
  memory.optimizer = 4 * owned.moments;

  const auto count = static_cast<std::uint32_t>(plan.batch.count);
  const StageExchange exchange = plan_stage_exchange(plan, ownership, pp_rank, 0);
  const std::uint64_t summed = elements + (tied_head ? table : 0);
  if (exchanges_in_turns(plan)) {
    std::int64_t longest = 0;
    for (const SegmentRow& row : exchange.sums.owners) longest = std::max(longest, row.length());
    // What the rank owns, in the order of micro-batches; and the gradients of its last one.
    memory.gradients = 4 * (size(longest) * peak_gradient_sums(count, {0, count}) + summed);
  } else {
    // Blocks differ by one micro-batch at most, but lie differently in the tree; a few thousand of them show every way.
    std::uint32_t sums = 0;
    for (std::uint32_t rank = 0; rank < std::min(plan.mesh.dp, 4096u); ++rank)
      sums = std::max(sums, peak_gradient_sums(count, dp_block(count, plan.mesh.dp, rank)));
    memory.gradients = 4 * summed * sums;
  }
  // What is left of the sums, beside what comes from a tied head.
  const std::uint64_t nodes = maximal_nodes(count, dp_block(count, plan.mesh.dp, 0)).size();
  if (exchange.receives_tied) memory.gradients = std::max(memory.gradients, 4 * (elements + table) * nodes);
  memory.exchange = size(exchange.buffer_bytes);

  const std::uint64_t tokens = size(plan.batch.micro * plan.batch.seq_len),
                      hidden = (plan.bf16 ? 2 : 4) * size(plan.dims.dim);
  const std::uint64_t layer = layer_activation_bytes(plan.dims, plan.bf16);
  std::uint64_t per_token = 0, again = 0;   // `again`: of the one layer that is computed a second time
  std::uint64_t arriving = 0, leaving = 0;  // tensors between ranks
  for (const StageParts& parts : stages) {
    for (std::int64_t i = parts.first_layer; i < parts.end_layer; ++i) {
      const bool recomputed = recipe::recomputes(plan, i);
      per_token += recomputed ? hidden : layer;
      if (recomputed) again = layer - hidden;
    }
    per_token += parts.embedding ? 8 : hidden;  // token ids, or what came in
    per_token += parts.head ? head_activation_bytes(plan.dims, plan.bf16) : hidden;
    // A tensor that arrives while the one before is worked on, and gradients until the stage before has taken them.
    arriving += (parts.embedding ? 0 : 1) + (parts.head ? 0 : 1);
    leaving += parts.embedding ? 0 : 2;
  }
  memory.transfers = tokens * hidden * (arriving + leaving);
  const std::uint64_t logits = head ? logits_bytes(plan.dims, plan.bf16) : 0,
                      chunk = plan.loss_chunk == 0 ? tokens : std::min(tokens, size(plan.loss_chunk));
  memory.activations = tokens * per_token * in_flight / plan.chunks + std::max(tokens * again, chunk * logits);
  return memory;
}

}  // namespace titan::train
