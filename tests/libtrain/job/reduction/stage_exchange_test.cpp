#include "libtrain/job/reduction/stage_exchange.h"

#include <algorithm>
#include <tuple>

#include <gtest/gtest.h>

#include "libtrain/job/reduction/rank_groups.h"
#include "tests/libtrain/support/llama_shapes.h"

namespace titan::train::stage_exchange_test {
namespace {

using namespace titan::test;

StageExchange exchange_of(recipe::RunPlan plan, std::uint32_t stage, std::uint64_t bytes) {
  plan.exchange_bytes = bytes;
  return plan_stage_exchange(plan, owners_of(plan), stage, 0);
}

/// Two stages: the embedding with the layers, norm and head.
recipe::RunPlan two_stages(bool bf16) {
  recipe::RunPlan plan = llama_plan("1B", 2, 4, true);
  plan.mesh.pp = 2;
  plan.bf16 = bf16;
  plan.parameters.back().stage = 1;
  return plan;
}

// Rows that were summed in turns travel between nodes once, each rank's part to itself.
TEST(StageExchange, BetweenNodesEachRankKeepsWhatItOwns) {
  recipe::RunPlan plan = llama_plan("1B", 8, 16);
  plan.exchange = recipe::ExchangeDomain::kNode;
  plan.node_ranks = 2;
  plan.exchange_bytes = 1 << 20;
  const ckpt::Ownership owners = owners_of(plan);
  const std::vector<SegmentRow> rows = turn_rows(plan, owners, 0);
  for (std::uint32_t rank = 0; rank < 8; ++rank) {
    const StageExchange exchange = plan_stage_exchange(plan, owners, 0, rank);
    ASSERT_EQ(exchange.turns.size(), 1u);
    const StageExchange::Turns& turns = exchange.turns[0];
    EXPECT_EQ(turns.plan.owners.size(), 2u);
    EXPECT_EQ(turns.plan.me, rank % 2);
    EXPECT_EQ(turns.own.segments(), rows[rank].segments());
    ASSERT_EQ(exchange.between_domains.swaps.size(), 2u) << "four nodes";
    EXPECT_EQ(exchange.between_domains.me, rank / 2);
    EXPECT_EQ(exchange.between_domains.swaps.back().mine.segments(),
              (std::vector<Segment>{{0, turns.begin, rows[rank].length()}}));
    const SegmentRow& summed = turns.plan.owners[rank % 2];
    EXPECT_EQ(summed.cut(turns.begin, turns.begin + turns.own.length()), turns.own.segments());
    EXPECT_LE(exchange.buffer_bytes, 1 << 20);
  }
}

TEST(StageExchange, GradientsTravelInTheirOwnWidth) {
  recipe::RunPlan plan = two_stages(true);
  plan.exchange = recipe::ExchangeDomain::kAlways;
  const auto widths = [&](std::uint32_t stage) {
    std::vector<std::int64_t> found;
    for (const StageExchange::Turns& turns : exchange_of(plan, stage, 1 << 20).turns) found.push_back(turns.width);
    return found;
  };
  EXPECT_EQ(widths(0), (std::vector<std::int64_t>{4, 2})) << "the embedding, then layers";
  EXPECT_EQ(widths(1), (std::vector<std::int64_t>{2})) << "layers and the tied head";
  plan.loss_chunk = 1;
  EXPECT_EQ(widths(1), (std::vector<std::int64_t>{2, 4})) << "chunks of the head are added up in fp32";
  const std::int64_t slice = exchange_of(plan, 1, 1 << 20).turns.front().plan.slice;
  plan.bf16 = false;
  EXPECT_EQ(widths(0), (std::vector<std::int64_t>{4}));
  EXPECT_LE(exchange_of(plan, 1, 1 << 20).turns.front().plan.slice, slice / 2 + 16) << "half as many fit the buffers";
}

// docs/performance.md has these. Before groups a rank sent 3,395, 6,039, 64,790 and 8,789,121 messages.
TEST(StageExchange, CountsTheMessagesOfARankInAStep) {
  const auto traffic = [](recipe::RunPlan plan) {
    plan.exchange_bytes = 256 << 20;
    return busiest_traffic(plan);
  };
  const Traffic swaps = traffic(llama_plan("8B", 8192, 8192));
  EXPECT_EQ(swaps.messages, swaps.rounds);
  EXPECT_LT(swaps.messages, 2 * 13 * 600) << "of 64 MiB each";
  for (const auto& [dp, rounds, messages] :
       {std::tuple{6u, 839, 1518}, {10u, 767, 2780}, {96u, 990, 1670}, {10'000u, 826, 11'004}}) {
    const Traffic found = traffic(llama_plan("8B", dp, 2 * dp));
    EXPECT_EQ(found.rounds, rounds) << dp;
    EXPECT_EQ(found.messages, messages) << dp;
  }
  recipe::RunPlan turns = llama_plan("1B", 4, 12);
  turns.exchange = recipe::ExchangeDomain::kAlways;
  const Traffic once = traffic(turns);
  turns.batch.count = 24;
  EXPECT_GT(traffic(turns).messages, once.messages) << "each micro-batch travels";
}

TEST(StageExchange, GroupsAreToldWhatTheyDoAlone) {
  const auto peers_of = [](const recipe::RunPlan& plan) {
    return group_peers(plan_stage_exchange(plan, owners_of(plan), 0, 0), has_node_groups(plan));
  };
  const ExchangePeers butterfly = peers_of(llama_plan("1B", 8, 16)).stage;
  EXPECT_EQ(butterfly.swaps, (std::vector<int>{1, 2, 4}));
  EXPECT_TRUE(!butterfly.all_to_all && butterfly.few.empty());
  const ExchangePeers slices = peers_of(llama_plan("1B", 3, 12)).stage;
  EXPECT_TRUE(slices.all_to_all && slices.swaps.empty() && slices.few.empty());
  const ExchangePeers groups = peers_of(llama_plan("1B", 6, 12)).stage;
  EXPECT_TRUE(!groups.all_to_all);
  EXPECT_EQ(groups.few, (std::vector<int>{1, 2}));
  EXPECT_EQ(groups.swaps, std::vector<int>{3});
  recipe::RunPlan plan = llama_plan("1B", 8, 16);
  plan.exchange = recipe::ExchangeDomain::kAlways;
  const ExchangePeers turns = peers_of(plan).stage;
  EXPECT_TRUE(turns.all_to_all && !turns.swaps.empty()) << "gradients in turns, weights by swaps";
  plan.exchange = recipe::ExchangeDomain::kNode;
  plan.node_ranks = 2;
  const GroupPeers nodes = peers_of(plan);
  EXPECT_TRUE(nodes.node.all_to_all && nodes.node.swaps.empty());
  EXPECT_TRUE(!nodes.between_nodes.swaps.empty() && !nodes.between_nodes.all_to_all);
  EXPECT_TRUE(!nodes.stage.swaps.empty() && !nodes.stage.all_to_all);
}

// Both sides of a pair know of each other.
TEST(StageExchange, GroupsKnowWhoTheyExchangeWith) {
  for (const std::uint32_t dp : {6u, 19u, 40u}) {
    const recipe::RunPlan plan = llama_plan("1B", dp, 2 * dp + 1);
    const ckpt::Ownership owners = owners_of(plan);
    std::vector<ExchangePeers> peers;
    for (std::uint32_t rank = 0; rank < dp; ++rank) {
      const StageExchange exchange = plan_stage_exchange(plan, owners, 0, rank);
      peers.push_back(group_peers(exchange, false).stage);
      const ExchangePlan& sums = exchange.parts[0].sums;
      EXPECT_EQ(peers.back().swaps.size(), sums.swaps.size() + sums.handed.size()) << rank << " of " << dp;
    }
    for (std::uint32_t rank = 0; rank < dp; ++rank) {
      EXPECT_FALSE(peers[rank].few.empty());
      EXPECT_LE(peers[rank].few.size(), 2 * kLargestGroup + 2);
      for (const int peer : peers[rank].few)
        EXPECT_EQ(std::ranges::count(peers[static_cast<std::size_t>(peer)].few, static_cast<int>(rank)), 1);
      for (const int peer : peers[rank].swaps)
        EXPECT_EQ(std::ranges::count(peers[static_cast<std::size_t>(peer)].swaps, static_cast<int>(rank)), 1);
    }
  }
}

TEST(StageExchange, OneRankHasNothingToExchange) {
  const StageExchange exchange = exchange_of(llama_plan("1B", 1, 4), 0, 1 << 20);
  EXPECT_EQ(exchange.buffer_bytes, 0);
  EXPECT_TRUE(exchange.parts[0].copies.empty());
}

TEST(StageExchange, WeightsTravelInTheWidthOfTheComputeCopy) {
  recipe::RunPlan plan = llama_plan("1B", 4, 4);
  ASSERT_EQ(exchange_of(plan, 0, 1 << 20).parts[0].copies.size(), 1u);
  EXPECT_EQ(exchange_of(plan, 0, 1 << 20).parts[0].copies[0].width, 4);
  plan.bf16 = true;
  const StageExchange exchange = exchange_of(plan, 0, 1 << 20);
  ASSERT_EQ(exchange.parts[0].copies.size(), 2u);
  EXPECT_EQ(exchange.parts[0].copies[0].width, 4) << "the embedding";
  EXPECT_EQ(exchange.parts[0].copies[1].width, 2);
  EXPECT_EQ(exchange.buffer_bytes, 1 << 20);
}

TEST(StageExchange, ATiedHeadIsSummedBesideItsEmbedding) {
  const recipe::RunPlan one = llama_plan("1B", 2, 4, true);
  EXPECT_EQ(exchange_of(one, 0, 1 << 20).parameters.size(), one.parameters.size() + 1);
  EXPECT_EQ(exchange_of(one, 0, 1 << 20).parameters.back(), 0u);
  EXPECT_FALSE(exchange_of(one, 0, 1 << 20).receives_tied);

  for (const bool bf16 : {false, true}) {
    const StageExchange first = exchange_of(two_stages(bf16), 0, 1 << 20),
                        last = exchange_of(two_stages(bf16), 1, 1 << 20);
    EXPECT_TRUE(first.receives_tied);
    EXPECT_TRUE(last.sends_tied);
    EXPECT_EQ(first.parameters.back(), 0u);
    EXPECT_EQ(last.parameters.size(), 1u) << "norm";
    EXPECT_EQ(first.tied_message, last.tied_message) << "both sides cut the table alike";
    EXPECT_EQ(first.tied_message, bf16 ? 1 << 19 : 2048 * 128256);
  }
}

}  // namespace
}  // namespace titan::train::stage_exchange_test
