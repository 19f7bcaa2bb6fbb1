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

  const std::vector<SegmentRow> rows = owner_rows(plan, owners, pp_rank, exchange.parameters);
  exchange.sums = exchanges_in_turns(plan)
                      ? plan_turn(rows, dp_rank, bytes / kSumWidth)
                      : plan_sums(rows, dp_rank, static_cast<std::uint32_t>(plan.batch.count), bytes / kSumWidth);
  exchange.buffer_bytes = exchange.sums.buffer_elements() * kSumWidth;
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
