#include "libtrain/reduce/stage_exchange.h"

#include <algorithm>

namespace titan::train {
namespace {

constexpr std::int64_t kSumWidth = 4, kHalfWidth = 2;
constexpr const char* kEmbedding = "tok_embeddings.weight";

}  // namespace

std::int64_t compute_width(const recipe::RunPlan& plan, std::uint32_t parameter) {
  return plan.bf16 && plan.parameters[parameter].name != kEmbedding ? kHalfWidth : kSumWidth;
}

std::vector<SegmentRow> turn_rows(const recipe::RunPlan& plan, const ckpt::Ownership& owners, std::uint32_t stage) {
  std::vector<std::uint32_t> slots;
  for (std::uint32_t i = 0; i < plan.parameters.size(); ++i)
    if (plan.stage_of(i) == stage) slots.push_back(i);
  std::vector<SegmentRow> rows = owner_rows(plan, owners, plan.rank_of(stage), slots);
  if (!plan.dims.tied || stage + 1 != plan.stage_count()) return rows;
  // What a rank sums of the head is what its counterpart on the first stage owns of the embedding.
  std::vector<std::uint32_t> head(slots.size(), static_cast<std::uint32_t>(plan.parameters.size()));  // nobody's
  for (std::uint32_t i = 0; i < plan.parameters.size(); ++i)
    if (plan.parameters[i].name == kEmbedding) head.push_back(i);
  const std::vector<SegmentRow> of_head = owner_rows(plan, owners, plan.rank_of(0), head);
  for (std::size_t rank = 0; rank < rows.size(); ++rank) rows[rank].add(of_head[rank]);
  return rows;
}

StageExchange plan_stage_exchange(const recipe::RunPlan& plan, const ckpt::Ownership& owners, std::uint32_t pp_rank,
                                  std::uint32_t dp_rank) {
  const auto bytes = static_cast<std::int64_t>(plan.exchange_bytes);
  StageExchange exchange;
  for (std::uint32_t i = 0; i < plan.parameters.size(); ++i)
    if (plan.parameters[i].stage == pp_rank) exchange.parameters.push_back(i);
  const std::vector<std::uint32_t> shared = exchange.parameters;
  const bool first = pp_rank == plan.rank_of(0), last = pp_rank == plan.rank_of(plan.stage_count() - 1);
  if (plan.dims.tied) {
    exchange.sends_tied = last && !first;
    exchange.receives_tied = first && !last;
    if (first) exchange.parameters.push_back(exchange.parameters.front());
  }

  std::int64_t summed = 0;
  if (exchanges_in_turns(plan)) {
    for (std::uint32_t chunk = 0; chunk < plan.chunks; ++chunk) {
      exchange.turns.push_back(
          plan_turn(turn_rows(plan, owners, plan.stage_of_chunk(pp_rank, chunk)), dp_rank, bytes / kSumWidth));
      summed = std::max(summed, exchange.turns.back().buffer_elements());
    }
  } else {
    exchange.sums = plan_sums(owner_rows(plan, owners, pp_rank, exchange.parameters), dp_rank,
                              static_cast<std::uint32_t>(plan.batch.count), bytes / kSumWidth);
    summed = exchange.sums.buffer_elements();
  }
  exchange.buffer_bytes = summed * kSumWidth;
  for (const std::int64_t width : {kSumWidth, kHalfWidth}) {
    // A parameter of another width is nobody's.
    std::vector<std::uint32_t> slots = shared;
    for (std::uint32_t& slot : slots)
      if (compute_width(plan, slot) != width) slot = static_cast<std::uint32_t>(plan.parameters.size());
    ExchangePlan sharing = plan_copies(owner_rows(plan, owners, pp_rank, slots), dp_rank, bytes / width);
    const std::int64_t elements = sharing.buffer_elements();
    if (elements == 0) continue;
    exchange.buffer_bytes = std::max(exchange.buffer_bytes, elements * width);
    exchange.sharings.push_back({width, std::move(sharing)});
  }
  if (exchange.sends_tied || exchange.receives_tied) {
    exchange.tied_piece = plan.dims.vocab_size * plan.dims.dim;
    if (plan.bf16) exchange.tied_piece = std::clamp<std::int64_t>(bytes / kHalfWidth, 1, exchange.tied_piece);
    if (plan.bf16 && exchange.receives_tied)
      exchange.buffer_bytes = std::max(exchange.buffer_bytes, exchange.tied_piece * kHalfWidth);
  }
  return exchange;
}

}  // namespace titan::train
