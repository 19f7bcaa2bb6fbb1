#include "libtrain/job/forecast/memory.h"

#include <algorithm>
#include <bit>
#include <map>
#include <vector>

#include "ckpt/plan/ownership.h"
#include "libtrain/job/forecast/step_memory.h"
#include "libtrain/job/reduction/stage_exchange.h"
#include "libtrain/job/reduction/tree_count.h"
#include "recipe/model/family.h"
#include "recipe/plan/exchange_parts.h"
#include "recipe/plan/run_plan.h"

namespace titan::train {
namespace {

constexpr std::uint32_t kCounted = 1 << 16;

std::uint64_t size(std::int64_t value) { return static_cast<std::uint64_t>(value); }
std::uint64_t queries(const recipe::ModelDims& dims) { return recipe::extent(recipe::Extent::kQueries, dims); }
std::uint64_t keys(const recipe::ModelDims& dims) { return recipe::extent(recipe::Extent::kKeys, dims); }

/// Feed-forward width that a token uses (of all its experts).
std::uint64_t inner(const recipe::ModelDims& dims) {
  return size(dims.experts ? dims.experts_per_token * dims.ffn_dim : dims.ffn_dim);
}

/// Numbers of fp32 values of the data-parallel rank that owns most of the stage.
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
      owned.moments += (plan.ema ? 3 : 2) * elements;
      // A parameter whose compute dtype is fp32 is its own master.
      if (compute_width(plan, piece.parameter) != 4) owned.masters += elements;
    }
    if (owned.moments + owned.masters > most.moments + most.masters) most = owned;
  }
  return most;
}

// Per token: probabilities of all experts, and for each expert of the token its weight, position and token, some of
// them twice.
std::uint64_t routing_bytes(const recipe::ModelDims& dims) {
  return dims.experts ? 4 * size(dims.n_experts) + 48 * size(dims.experts_per_token) : 0;
}

}  // namespace

// What the functions of libtrain/engine/model/functions save for the backward; a test compares it with the memory that
// a forward leaves allocated.
std::uint64_t layer_activation_bytes(const recipe::ModelDims& dims, bool bf16) {
  const std::uint64_t h = size(dims.dim), q = queries(dims), kv = keys(dims);
  const std::uint64_t statistics = 4 * size(dims.n_heads) + 8;  // of attention and both norms
  // A query or key norm saves its input, and one number per head.
  const std::uint64_t normed = dims.qk_norm ? q + kv : 0,
                      of_heads = dims.whole_qk_norm ? 8 : 4 * size(dims.n_heads + dims.n_kv_heads);
  // For an expert: its input and output, in addition to gate and up.
  const std::uint64_t rows = dims.experts ? 2 * size(dims.experts_per_token) * h : 0;
  return (bf16 ? 2 : 4) * (4 * h + 2 * q + 2 * kv + 2 * inner(dims) + rows + normed) + statistics +
         (dims.qk_norm ? of_heads : 0) + routing_bytes(dims);
}

std::uint64_t score_bytes(const recipe::ModelDims& dims, std::int64_t seq_len, bool bf16) {
  const std::uint64_t q = queries(dims), kv = keys(dims);
  return 4 * (size(dims.n_heads * seq_len) + 3 * q) - (bf16 ? 2 : 4) * (q + 2 * kv);
}

// The norm's input and output, and the output's gradient, since head and loss are computed forward and backward at
// once.
std::uint64_t head_activation_bytes(const recipe::ModelDims& dims, bool bf16) {
  constexpr std::uint64_t kStatistic = 4;
  return (bf16 ? 6 : 12) * size(dims.dim) + kStatistic;
}

// Logits (with bf16 in both dtypes) and log-probabilities.
std::uint64_t logits_bytes(const recipe::ModelDims& dims, bool bf16) { return (bf16 ? 10 : 8) * size(dims.vocab_size); }

std::uint32_t peak_gradient_sums(std::uint32_t count, Node block) {
  // A block consists of few nodes, at most as many as the tree is deep: beyond this size the bound is close enough.
  if (block.hi - block.lo > kCounted) return static_cast<std::uint32_t>(std::bit_width(block.hi - block.lo)) + 1;
  TreeCount sums(count, block);
  std::size_t peak = 0;
  for (std::uint32_t micro_batch = block.lo; micro_batch < block.hi; ++micro_batch) {
    peak = std::max(peak, sums.held() + 1);
    sums.insert(micro_batch);
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

namespace {

/// Elements of a stage whose sums the rank holds in turns: the maximum over data-parallel ranks.
std::uint64_t most_summed(const recipe::RunPlan& plan, const ckpt::Ownership& ownership, std::uint32_t stage) {
  std::int64_t most = 0;
  for (const SegmentRow& row : domain_rows(turn_rows(plan, ownership, stage), domain_size(plan)))
    most = std::max(most, row.length());
  return size(most);
}

/// Per token: what a layer saves. With a window, the outputs of several blocks are concatenated for the next product.
std::uint64_t kept_bytes(const recipe::RunPlan& plan) {
  const bool blocks = plan.dims.window.tokens != 0 && plan.dims.window.tokens < plan.batch.seq_len;
  return layer_activation_bytes(plan.dims, plan.bf16) + (blocks ? (plan.bf16 ? 2 : 4) * queries(plan.dims) : 0) +
         (plan.keeps_scores ? score_bytes(plan.dims, plan.batch.seq_len, plan.bf16) : 0);
}

/// Per token: additional memory at the peak of a layer's backward, and the incoming gradient. The peak is in the
/// feed-forward, with four tensors of that width; or, without fused attention, in attention, with the gradients of
/// probabilities and scores, when two feed-forward tensors are gone. A recomputed layer adds everything except its
/// input, and its output.
std::uint64_t layer_backward_bytes(const recipe::RunPlan& plan, std::int64_t layer) {
  const std::uint64_t width = plan.bf16 ? 2 : 4, hidden = width * size(plan.dims.dim),
                      again = recipe::recomputes(plan, layer) ? kept_bytes(plan) : 0, wide = width * inner(plan.dims),
                      scores = plan.keeps_scores ? 2 * 4 * size(plan.dims.n_heads * plan.batch.seq_len) : 0;
  return std::max(4 * wide, scores - std::min(scores, 2 * wide)) + hidden + again;
}

/// Per token: fp32 temporaries in the backward of our own norm.
std::uint64_t norm_backward_bytes(const recipe::ModelDims& dims) { return 4 * 4 * size(dims.dim); }

/// Gradients of a micro-batch in memory at once if they are sent part by part: those of the layer being computed, and
/// two parts in transit.
std::uint64_t in_turns_at_once(const recipe::RunPlan& plan, std::uint32_t stage) {
  constexpr std::size_t kParts = 3;
  const std::vector<std::uint32_t> part_of = recipe::exchange_parts(plan);
  std::map<std::uint32_t, std::uint64_t> bytes;
  for (std::uint32_t i = 0; i < plan.parameters.size(); ++i)
    if (plan.stage_of(i) == stage && plan.parameters[i].name != recipe::kHeadName)
      bytes[part_of[i]] += size(gradient_width(plan, i)) * ckpt::element_count(plan.parameters[i].shape);
  std::vector<std::uint64_t> sizes;
  for (const auto& [part, size] : bytes) sizes.push_back(size);
  std::uint64_t most = 0;
  for (std::size_t i = 0; i < sizes.size(); ++i) {
    std::uint64_t sum = 0;
    for (std::size_t j = i; j < std::min(sizes.size(), i + kParts); ++j) sum += sizes[j];
    most = std::max(most, sum);
  }
  return most;
}

StageBytes stage_bytes(const recipe::RunPlan& plan, const ckpt::Ownership& ownership, std::uint32_t stage) {
  const StageParts parts = stage_parts(plan, stage);
  const recipe::ModelDims& dims = plan.dims;
  const std::uint64_t tokens = size(plan.batch.micro * plan.batch.seq_len), width = plan.bf16 ? 2 : 4,
                      hidden = width * size(dims.dim), layer = kept_bytes(plan),
                      table = size(dims.vocab_size * dims.dim);
  StageBytes bytes{.stage = stage};
  std::uint64_t largest = 0, of_lowest = 0;  // gradients, in elements
  const std::string lowest = "layers." + std::to_string(parts.first_layer) + ".";
  for (std::uint32_t i = 0; i < plan.parameters.size(); ++i) {
    if (plan.stage_of(i) != stage || plan.parameters[i].name == recipe::kHeadName) continue;
    const std::uint64_t elements = ckpt::element_count(plan.parameters[i].shape);
    bytes.sum += 4 * elements;
    if (plan.parameters[i].name != recipe::kEmbeddingName) largest = std::max(largest, elements);
    if (plan.parameters[i].name == recipe::kEmbeddingName || plan.parameters[i].name.starts_with(lowest))
      of_lowest += elements;
  }
  bytes.lowest_sum = 4 * of_lowest;
  // Gradients of bf16 products are sent as they are, or converted to fp32 for a sum.
  const std::uint64_t new_gradient = (plan.bf16 ? (exchanges_per_micro_batch(plan) ? 2 : 6) : 4) * largest;
  bytes.last_sum = parts.embedding ? 4 * table : new_gradient;
  bytes.head_sum = parts.head ? 4 * table : 0;

  std::uint64_t flight = parts.embedding ? 8 : 0;  // token ids
  for (std::int64_t i = parts.first_layer; i < parts.end_layer; ++i)
    flight += recipe::recomputes(plan, i) ? hidden : layer;
  flight += parts.head ? head_activation_bytes(dims, plan.bf16) : hidden;
  bytes.flight = tokens * flight;
  const std::uint64_t chunk = plan.loss_chunk == 0 ? tokens : std::min(tokens, size(plan.loss_chunk));
  if (parts.head) bytes.forward = chunk * logits_bytes(dims, plan.bf16);
  bytes.backward = tokens * norm_backward_bytes(dims);
  if (parts.end_layer > parts.first_layer) {
    // Below the head, the norm's output and the incoming gradient have been freed.
    const std::uint64_t highest = layer_backward_bytes(plan, parts.end_layer - 1) - (parts.head ? 2 * hidden : 0);
    bytes.backward = std::max(bytes.backward, tokens * highest + new_gradient);
    bytes.lowest = tokens * ((recipe::recomputes(plan, parts.first_layer) ? hidden : layer) +
                             layer_backward_bytes(plan, parts.first_layer)) +
                   new_gradient;
  }
  bytes.last = tokens * (parts.embedding ? hidden + (plan.bf16 ? 4 * size(dims.dim) : 0) : 4 * hidden);
  // Inputs of a layer's seven products, some of which share one, and the gradients of their outputs.
  const std::uint64_t of_experts = dims.experts ? 2 * size(dims.experts_per_token * dims.dim) : 0;
  bytes.operands = tokens * size(parts.end_layer - parts.first_layer) * width *
                   (4 * size(dims.dim) + 2 * queries(dims) + 2 * keys(dims) + 3 * inner(dims) + of_experts);
  if (exchanges_per_micro_batch(plan)) {
    bytes.owned = 4 * most_summed(plan, ownership, stage);
    bytes.sum = std::min(bytes.sum, in_turns_at_once(plan, stage));
    bytes.lowest_sum = std::min(bytes.lowest_sum, bytes.sum);
  }
  return bytes;
}

StepBytes step_bytes(const recipe::RunPlan& plan, const std::vector<StageBytes>& stages, std::span<const Action> row,
                     std::uint32_t in_flight) {
  const auto count = static_cast<std::uint32_t>(plan.batch.count);
  const std::uint32_t domain = domain_size(plan);
  StepBytes most;
  // Blocks differ by at most one micro-batch, but have different positions in the tree; a few thousand cover all cases.
  for (std::uint32_t number = 0; number < std::min(plan.mesh.dp / domain, 4096U); ++number) {
    const SumOrder order{count, share_of(plan, number * domain), domain > 1 ? domain : 0};
    const std::uint32_t sums = row.empty() ? peak_gradient_sums(count, order.share.block) : 0;
    const StepBytes bytes =
        row.empty() ? bound_of_row(in_flight, sums, stages, order) : peak_of_row(row, stages, order);
    if (bytes.total() > most.total()) most = bytes;
  }
  return most;
}

}  // namespace

RankMemory rank_memory(const recipe::RunPlan& plan, std::uint32_t pp_rank, std::span<const Action> row,
                       std::uint32_t in_flight) {
  return rank_memory(plan, recipe::owners_of(plan), pp_rank, row, in_flight);
}

RankMemory rank_memory(const recipe::RunPlan& plan, const ckpt::Ownership& ownership, std::uint32_t pp_rank,
                       std::span<const Action> row, std::uint32_t in_flight) {
  std::vector<StageParts> parts;
  std::vector<StageBytes> stages;
  for (std::uint32_t chunk = 0; chunk < plan.chunks; ++chunk) {
    const std::uint32_t stage = plan.stage_of_chunk(pp_rank, chunk);
    parts.push_back(stage_parts(plan, stage));
    stages.push_back(stage_bytes(plan, ownership, stage));
  }
  const bool embedding = parts.front().embedding, tied_head = plan.dims.tied && parts.back().head;
  const std::uint64_t table = size(plan.dims.vocab_size * plan.dims.dim);
  const Owned owned = largest_share(plan, ownership, pp_rank);

  RankMemory memory;
  std::uint64_t elements = 0;
  for (std::uint32_t i = 0; i < plan.parameters.size(); ++i) {
    if (plan.parameters[i].stage != pp_rank) continue;
    const std::uint64_t count = ckpt::element_count(plan.parameters[i].shape);
    elements += count;
    memory.weights += size(compute_width(plan, i)) * count;
  }
  // A tied head on the stage of its embedding is the same tensor in fp32.
  if (tied_head && (plan.bf16 || !embedding || plan.chunks > 1)) memory.weights += (plan.bf16 ? 2 : 4) * table;
  memory.weights += 4 * owned.masters;
  memory.optimizer = 4 * owned.moments;

  StepBytes step = step_bytes(plan, stages, row, in_flight);
  const auto count = static_cast<std::uint32_t>(plan.batch.count);
  const StageExchange exchange = plan_stage_exchange(plan, ownership, pp_rank, 0);
  // After the step: in turns, the sums and the row of them that the optimizer takes; otherwise the remaining sums, and
  // what comes from a tied head.
  const std::uint64_t nodes = maximal_nodes(count, share_of(plan, 0).block).size();
  std::uint64_t left = 0;
  for (const StageBytes& stage : stages) left += 2 * stage.owned * nodes;
  if (left == 0 && exchange.receives_tied) left = 4 * (elements + table) * nodes;
  if (left > step.total()) step = {left, 0};
  memory.gradients = step.sums;
  memory.activations = step.activations;
  memory.exchange = size(exchange.buffer_bytes);

  const std::uint64_t hidden = size(plan.batch.micro * plan.batch.seq_len) * (plan.bf16 ? 2 : 4) * size(plan.dims.dim);
  // A tensor that arrives while the previous one is processed, and gradients that the previous stage has not received
  // yet.
  const std::uint64_t others = share_of(plan, 0).count - 1, early = std::min<std::uint64_t>(others, 1),
                      late = std::min<std::uint64_t>(others, 2);
  for (const StageParts& stage : parts)
    memory.transfers += hidden * ((stage.embedding ? 0 : early + late) + (stage.head ? 0 : early));
  memory.slack = memory.tensors() / kMemorySlack;
  return memory;
}

}  // namespace titan::train
