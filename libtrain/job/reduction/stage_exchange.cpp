#include "libtrain/job/reduction/stage_exchange.h"

#include <algorithm>
#include <numeric>
#include <utility>

#include "recipe/model/family.h"
#include "recipe/plan/exchange_parts.h"
#include "recipe/plan/run_plan.h"

namespace titan::train {
namespace {

constexpr std::int64_t kSumWidth = 4, kHalfWidth = 2;

/// For the ranks with this rank's position in their domains, in order of domains: the lengths of what they own.
std::vector<std::int64_t> lengths_of_place(const std::vector<SegmentRow>& rows, std::uint32_t domain,
                                           std::uint32_t dp_rank) {
  std::vector<std::int64_t> lengths;
  for (std::size_t rank = dp_rank % domain; rank < rows.size(); rank += domain) lengths.push_back(rows[rank].length());
  return lengths;
}

/// A part of one of the rank's stages, and what each data-parallel rank owns of it.
struct StagePart {
  std::uint32_t chunk = 0;
  std::int64_t width = 4;
  std::vector<std::uint32_t> summands;
  std::vector<SegmentRow> rows;
};

/// Bytes per element of a head's gradient: chunks of logits are summed in fp32.
std::int64_t head_width(const recipe::RunPlan& plan) {
  const bool chunks = plan.loss_chunk > 0 && plan.loss_chunk < plan.batch.micro * plan.batch.seq_len;
  return plan.bf16 && !chunks ? kHalfWidth : kSumWidth;
}

/// In the order of the rank's stages, then of their parts, then by width. A tied head is in the part of the norm next
/// to it.
std::vector<StagePart> stage_parts_of(const recipe::RunPlan& plan, const ckpt::Ownership& owners,
                                      std::uint32_t pp_rank) {
  const std::vector<std::uint32_t> part_of = recipe::exchange_parts(plan);
  std::vector<StagePart> parts;
  for (std::uint32_t chunk = 0; chunk < plan.chunks; ++chunk) {
    const std::uint32_t stage = plan.stage_of_chunk(pp_rank, chunk);
    std::vector<std::pair<std::uint32_t, std::int64_t>> of_summand;  // part and width
    for (std::uint32_t i = 0; i < plan.parameters.size(); ++i)
      if (plan.stage_of(i) == stage) of_summand.emplace_back(part_of[i], gradient_width(plan, i));
    if (plan.dims.tied && stage + 1 == plan.stage_count())
      of_summand.emplace_back(of_summand.back().first, head_width(plan));
    const std::vector<SegmentRow> rows = turn_rows(plan, owners, stage);
    for (std::uint32_t summand = 0; summand < of_summand.size(); ++summand) {
      if (summand == 0 || of_summand[summand] != of_summand[summand - 1])
        parts.push_back({chunk, of_summand[summand].second, {}, std::vector<SegmentRow>(rows.size())});
      parts.back().summands.push_back(summand);
    }
    for (StagePart& part : parts) {
      if (part.chunk != chunk) continue;
      for (std::size_t rank = 0; rank < rows.size(); ++rank)
        for (const Segment& segment : rows[rank].segments())
          if (segment.summand >= part.summands.front() && segment.summand <= part.summands.back())
            part.rows[rank].add(segment);
    }
  }
  return parts;
}

std::vector<StageExchange::Turns> plan_turns(const recipe::RunPlan& plan, std::vector<StagePart> parts,
                                             std::uint32_t dp_rank) {
  const std::uint32_t domain = domain_size(plan);
  std::vector<StageExchange::Turns> turns;
  for (StagePart& part : parts) {
    const std::vector<std::int64_t> lengths = lengths_of_place(part.rows, domain, dp_rank);
    turns.push_back({part.chunk, part.width, std::move(part.summands),
                     plan_turn(domain_rows(part.rows, domain), dp_rank % domain,
                               static_cast<std::int64_t>(plan.exchange_bytes) / part.width),
                     part.rows[dp_rank],
                     std::accumulate(lengths.begin(), lengths.begin() + dp_rank / domain, std::int64_t{0})});
  }
  return turns;
}

/// Among the ranks with this rank's position: each has summed the same elements, over the micro-batches of its domain.
ExchangePlan plan_between_domains(const recipe::RunPlan& plan, const std::vector<StagePart>& parts,
                                  std::uint32_t dp_rank) {
  const std::uint32_t domain = domain_size(plan), domains = plan.mesh.dp / domain;
  if (domains == 1) return {};
  std::vector<SegmentRow> rows(domains);
  for (std::uint32_t summand = 0; summand < parts.size(); ++summand) {
    const std::vector<std::int64_t> lengths = lengths_of_place(parts[summand].rows, domain, dp_rank);
    std::int64_t begin = 0;
    for (std::uint32_t number = 0; number < domains; ++number) {
      rows[number].add({summand, begin, lengths[number]});
      begin += lengths[number];
    }
  }
  return plan_sums(rows, dp_rank / domain, static_cast<std::uint32_t>(plan.batch.count),
                   static_cast<std::int64_t>(plan.exchange_bytes) / kSumWidth);
}

}  // namespace

std::int64_t compute_width(const recipe::RunPlan& plan, std::uint32_t parameter) {
  return plan.bf16 && plan.parameters[parameter].name != recipe::kEmbeddingName ? kHalfWidth : kSumWidth;
}

std::int64_t gradient_width(const recipe::RunPlan& plan, std::uint32_t parameter) {
  return plan.parameters[parameter].name == recipe::kHeadName ? head_width(plan) : compute_width(plan, parameter);
}

std::vector<SegmentRow> turn_rows(const recipe::RunPlan& plan, const ckpt::Ownership& owners, std::uint32_t stage) {
  std::vector<std::uint32_t> summands;
  for (std::uint32_t i = 0; i < plan.parameters.size(); ++i)
    if (plan.stage_of(i) == stage) summands.push_back(i);
  std::vector<SegmentRow> rows = owner_rows(plan, owners, plan.rank_of(stage), summands);
  if (!plan.dims.tied || stage + 1 != plan.stage_count()) return rows;
  // What a rank sums of the head is what its counterpart on the first stage owns of the embedding.
  std::vector<std::uint32_t> head(summands.size(),
                                  static_cast<std::uint32_t>(plan.parameters.size()));  // no parameter, so no owners
  for (std::uint32_t i = 0; i < plan.parameters.size(); ++i)
    if (plan.parameters[i].name == recipe::kEmbeddingName) head.push_back(i);
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
  const std::size_t own = exchange.parameters.size();
  const bool first = pp_rank == plan.rank_of(0), last = pp_rank == plan.rank_of(plan.stage_count() - 1);
  if (plan.dims.tied) {
    exchange.sends_tied = last && !first;
    exchange.receives_tied = first && !last;
    if (first) exchange.parameters.push_back(exchange.parameters.front());
  }
  const std::vector<std::uint32_t> parts = recipe::exchange_parts(plan);
  for (std::uint32_t summand = 0; summand < exchange.parameters.size(); ++summand) {
    const std::uint32_t part = parts[exchange.parameters[summand]];
    exchange.part_of.push_back(part);
    if (exchange.parts.size() <= part) exchange.parts.resize(part + 1);
    exchange.parts[part].summands.push_back(summand);
  }

  std::int64_t summed = 0;
  if (exchanges_per_micro_batch(plan)) {
    std::vector<StagePart> of_stages = stage_parts_of(plan, owners, pp_rank);
    exchange.between_domains = plan_between_domains(plan, of_stages, dp_rank);
    exchange.turns = plan_turns(plan, std::move(of_stages), dp_rank);
    for (const StageExchange::Turns& turns : exchange.turns)
      exchange.buffer_bytes = std::max(exchange.buffer_bytes, turns.plan.buffer_elements() * turns.width);
    summed = std::max(summed, exchange.between_domains.buffer_elements());
  }
  const auto nobody = static_cast<std::uint32_t>(plan.parameters.size());
  for (std::uint32_t number = 0; number < exchange.parts.size(); ++number) {
    StageExchange::Part& part = exchange.parts[number];
    const auto rows_of = [&](const auto& takes) {
      std::vector<std::uint32_t> summands(exchange.parameters.size(), nobody);
      for (const std::uint32_t summand : part.summands)
        if (takes(summand)) summands[summand] = exchange.parameters[summand];
      return owner_rows(plan, owners, pp_rank, summands);
    };
    if (exchange.turns.empty()) {
      part.sums = plan_sums(rows_of([](std::uint32_t) { return true; }), dp_rank,
                            static_cast<std::uint32_t>(plan.batch.count), bytes / kSumWidth);
      summed = std::max(summed, part.sums.buffer_elements());
    }
    for (const std::int64_t width : {kSumWidth, kHalfWidth}) {
      ExchangePlan copies =
          plan_copies(rows_of([&](std::uint32_t summand) {
                        return summand < own && compute_width(plan, exchange.parameters[summand]) == width;
                      }),
                      dp_rank, bytes / width);
      const std::int64_t elements = copies.buffer_elements();
      if (elements == 0) continue;
      exchange.buffer_bytes = std::max(exchange.buffer_bytes, elements * width);
      part.copies.push_back({width, std::move(copies)});
    }
  }
  exchange.buffer_bytes = std::max(exchange.buffer_bytes, summed * kSumWidth);
  if (exchange.sends_tied || exchange.receives_tied) {
    exchange.tied_message = plan.dims.vocab_size * plan.dims.dim;
    if (plan.bf16) exchange.tied_message = std::clamp<std::int64_t>(bytes / kHalfWidth, 1, exchange.tied_message);
    if (plan.bf16 && exchange.receives_tied)
      exchange.buffer_bytes = std::max(exchange.buffer_bytes, exchange.tied_message * kHalfWidth);
  }
  return exchange;
}

Traffic traffic_of(const StageExchange& exchange, std::uint32_t micro_batches) {
  Traffic traffic;
  const auto add = [&](const ExchangePlan& plan, std::int64_t times = 1) {
    const auto [rounds, messages] = traffic_of(plan);
    traffic.rounds += rounds * times;
    traffic.messages += messages * times;
  };
  for (const StageExchange::Turns& turns : exchange.turns) add(turns.plan, micro_batches);
  add(exchange.between_domains);
  for (const StageExchange::Part& part : exchange.parts) {
    add(part.sums);
    for (const StageExchange::Copies& copies : part.copies) add(copies.plan);
  }
  return traffic;
}

Traffic busiest_traffic(const recipe::RunPlan& plan) {
  constexpr std::uint32_t kRanks = 20;
  const ckpt::Ownership owners = recipe::owners_of(plan);
  Traffic most;
  for (std::uint32_t rank = 0; rank < std::min(plan.mesh.dp, kRanks); ++rank) {
    const Traffic traffic = traffic_of(plan_stage_exchange(plan, owners, 0, rank), share_of(plan, rank).count);
    most = {std::max(most.rounds, traffic.rounds), std::max(most.messages, traffic.messages)};
  }
  return most;
}

GroupPeers group_peers(const StageExchange& exchange, bool nodes) {
  GroupPeers peers;
  const auto add_peer = [](std::vector<int>& peers, std::uint32_t peer) {
    if (std::ranges::find(peers, static_cast<int>(peer)) == peers.end()) peers.push_back(static_cast<int>(peer));
  };
  const auto add = [&](ExchangePeers& group, const ExchangePlan& plan) {
    group.all_to_all = group.all_to_all || plan.all;
    if (!plan.all)
      for (const std::uint32_t peer : plan.partners()) add_peer(group.few, peer);
    plan.for_swaps([&](const Swap& swap) { add_peer(group.swaps, swap.peer); });
  };
  ExchangePeers &turns = nodes ? peers.node : peers.stage, &sums = nodes ? peers.between_nodes : peers.stage;
  for (const StageExchange::Turns& turn : exchange.turns) add(turns, turn.plan);
  add(sums, exchange.between_domains);
  for (const StageExchange::Part& part : exchange.parts) {
    add(sums, part.sums);
    for (const StageExchange::Copies& copies : part.copies) add(peers.stage, copies.plan);
  }
  return peers;
}

}  // namespace titan::train
