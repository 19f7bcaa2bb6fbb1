#include "libtrain/reduce/stage_exchange.h"

#include <algorithm>
#include <numeric>

namespace titan::train {
namespace {

constexpr std::int64_t kSumWidth = 4, kHalfWidth = 2;
constexpr const char* kEmbedding = "tok_embeddings.weight";

/// Of the ranks with this rank's place in their domains, in order of the domains: the lengths of what they own.
std::vector<std::int64_t> lengths_of_place(const std::vector<SegmentRow>& rows, std::uint32_t domain,
                                           std::uint32_t dp_rank) {
  std::vector<std::int64_t> lengths;
  for (std::size_t rank = dp_rank % domain; rank < rows.size(); rank += domain) lengths.push_back(rows[rank].length());
  return lengths;
}

std::vector<StageExchange::Turns> plan_turns(const recipe::RunPlan& plan, const ckpt::Ownership& owners,
                                             std::uint32_t pp_rank, std::uint32_t dp_rank) {
  const std::uint32_t domain = domain_size(plan);
  std::vector<StageExchange::Turns> turns;
  for (std::uint32_t chunk = 0; chunk < plan.chunks; ++chunk) {
    const std::vector<SegmentRow> rows = turn_rows(plan, owners, plan.stage_of_chunk(pp_rank, chunk));
    const std::vector<std::int64_t> lengths = lengths_of_place(rows, domain, dp_rank);
    turns.push_back({plan_turn(domain_rows(rows, domain), dp_rank % domain,
                               static_cast<std::int64_t>(plan.exchange_bytes) / kSumWidth),
                     rows[dp_rank],
                     std::accumulate(lengths.begin(), lengths.begin() + dp_rank / domain, std::int64_t{0})});
  }
  return turns;
}

/// Among the ranks with this rank's place: each has summed the same elements, over the micro-batches of its domain.
ExchangePlan plan_between_domains(const recipe::RunPlan& plan, const ckpt::Ownership& owners, std::uint32_t pp_rank,
                                  std::uint32_t dp_rank) {
  const std::uint32_t domain = domain_size(plan), domains = plan.mesh.dp / domain;
  if (domains == 1) return {};
  std::vector<SegmentRow> rows(domains);
  for (std::uint32_t chunk = 0; chunk < plan.chunks; ++chunk) {
    const std::vector<std::int64_t> lengths =
        lengths_of_place(turn_rows(plan, owners, plan.stage_of_chunk(pp_rank, chunk)), domain, dp_rank);
    std::int64_t begin = 0;
    for (std::uint32_t number = 0; number < domains; ++number) {
      rows[number].add({chunk, begin, lengths[number]});
      begin += lengths[number];
    }
  }
  return plan_sums(rows, dp_rank / domain, static_cast<std::uint32_t>(plan.batch.count),
                   static_cast<std::int64_t>(plan.exchange_bytes) / kSumWidth);
}

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
    exchange.turns = plan_turns(plan, owners, pp_rank, dp_rank);
    for (const StageExchange::Turns& turns : exchange.turns) summed = std::max(summed, turns.plan.buffer_elements());
    exchange.sums = plan_between_domains(plan, owners, pp_rank, dp_rank);
  } else {
    exchange.sums = plan_sums(owner_rows(plan, owners, pp_rank, exchange.parameters), dp_rank,
                              static_cast<std::uint32_t>(plan.batch.count), bytes / kSumWidth);
  }
  exchange.buffer_bytes = std::max(summed, exchange.sums.buffer_elements()) * kSumWidth;
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
