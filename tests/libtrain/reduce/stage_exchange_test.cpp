#include "libtrain/reduce/stage_exchange.h"

#include <gtest/gtest.h>

#include "tests/libtrain/support/llama_shapes.h"

namespace titan::train {
namespace {

using namespace titan::test;

StageExchange exchange_of(const recipe::RunPlan& plan, std::uint32_t stage, std::int64_t bytes) {
  return plan_stage_exchange(plan, {plan.parameters, plan.leaf_elements, plan.mesh}, stage, 0, bytes);
}

/// Two stages: the embedding with the layers, norm and head.
recipe::RunPlan two_stages(bool bf16) {
  recipe::RunPlan plan = llama_plan("1B", 2, 4, true);
  plan.mesh.pp = 2;
  plan.bf16 = bf16;
  plan.parameters.back().stage = 1;
  return plan;
}

TEST(StageExchange, OneRankHasNothingToExchange) {
  const StageExchange exchange = exchange_of(llama_plan("1B", 1, 4), 0, 1 << 20);
  EXPECT_EQ(exchange.buffer_bytes, 0);
  EXPECT_TRUE(exchange.sharings.empty());
}

TEST(StageExchange, WeightsTravelInTheWidthOfTheComputeCopy) {
  recipe::RunPlan plan = llama_plan("1B", 4, 4);
  ASSERT_EQ(exchange_of(plan, 0, 1 << 20).sharings.size(), 1u);
  EXPECT_EQ(exchange_of(plan, 0, 1 << 20).sharings[0].width, 4);
  plan.bf16 = true;
  const StageExchange exchange = exchange_of(plan, 0, 1 << 20);
  ASSERT_EQ(exchange.sharings.size(), 2u);
  EXPECT_EQ(exchange.sharings[0].width, 4) << "the embedding";
  EXPECT_EQ(exchange.sharings[1].width, 2);
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
}  // namespace titan::train
