#include "libtrain/reduce/stage_exchange.h"

#include <gtest/gtest.h>

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

// What `plan` says of a number of ranks that is no power of two.
TEST(StageExchange, CountsTheMessagesOfARankInAStep) {
  const auto traffic = [](recipe::RunPlan plan) {
    plan.exchange_bytes = 256 << 20;
    return traffic_of(plan_stage_exchange(plan, owners_of(plan), 0, 0), share_of(plan, 0).count);
  };
  const Traffic swaps = traffic(llama_plan("8B", 8192, 8192));
  EXPECT_EQ(swaps.messages, swaps.rounds);
  EXPECT_LT(swaps.messages, 2 * 13 * 600) << "of 64 MiB each";
  const Traffic slices = traffic(llama_plan("8B", 10000, 10000));
  EXPECT_EQ(slices.messages, slices.rounds * 9999);
  EXPECT_GT(slices.rounds, 400) << "an element of 10,000 rows fits 3,344 times into the buffers";
  recipe::RunPlan turns = llama_plan("1B", 4, 12);
  turns.exchange = recipe::ExchangeDomain::kAlways;
  const Traffic once = traffic(turns);
  turns.batch.count = 24;
  EXPECT_GT(traffic(turns).messages, once.messages) << "each micro-batch travels";
}

TEST(StageExchange, GroupsAreToldWhatTheyDoAlone) {
  const auto ways_of = [](const recipe::RunPlan& plan) {
    return group_ways(plan_stage_exchange(plan, owners_of(plan), 0, 0), has_node_groups(plan));
  };
  const ExchangeWays butterfly = ways_of(llama_plan("1B", 8, 16)).stage;
  EXPECT_TRUE(butterfly.swaps && !butterfly.all_to_all);
  const ExchangeWays slices = ways_of(llama_plan("1B", 6, 12)).stage;
  EXPECT_TRUE(slices.all_to_all && !slices.swaps) << "no power of two";
  recipe::RunPlan plan = llama_plan("1B", 8, 16);
  plan.exchange = recipe::ExchangeDomain::kAlways;
  const ExchangeWays turns = ways_of(plan).stage;
  EXPECT_TRUE(turns.all_to_all && turns.swaps) << "gradients in turns, weights by swaps";
  plan.exchange = recipe::ExchangeDomain::kNode;
  plan.node_ranks = 2;
  const GroupWays nodes = ways_of(plan);
  EXPECT_TRUE(nodes.node.all_to_all && !nodes.node.swaps);
  EXPECT_TRUE(nodes.between_nodes.swaps && !nodes.between_nodes.all_to_all);
  EXPECT_TRUE(nodes.stage.swaps && !nodes.stage.all_to_all);
}

TEST(StageExchange, OneRankHasNothingToExchange) {
  const StageExchange exchange = exchange_of(llama_plan("1B", 1, 4), 0, 1 << 20);
  EXPECT_EQ(exchange.buffer_bytes, 0);
  EXPECT_TRUE(exchange.parts[0].sharings.empty());
}

TEST(StageExchange, WeightsTravelInTheWidthOfTheComputeCopy) {
  recipe::RunPlan plan = llama_plan("1B", 4, 4);
  ASSERT_EQ(exchange_of(plan, 0, 1 << 20).parts[0].sharings.size(), 1u);
  EXPECT_EQ(exchange_of(plan, 0, 1 << 20).parts[0].sharings[0].width, 4);
  plan.bf16 = true;
  const StageExchange exchange = exchange_of(plan, 0, 1 << 20);
  ASSERT_EQ(exchange.parts[0].sharings.size(), 2u);
  EXPECT_EQ(exchange.parts[0].sharings[0].width, 4) << "the embedding";
  EXPECT_EQ(exchange.parts[0].sharings[1].width, 2);
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
    EXPECT_EQ(first.tied_piece, last.tied_piece) << "both sides cut the table alike";
    EXPECT_EQ(first.tied_piece, bf16 ? 1 << 19 : 2048 * 128256);
  }
}

}  // namespace
}  // namespace titan::train::stage_exchange_test
