#include "libtrain/job/forecast/step_memory.h"

#include <gtest/gtest.h>

namespace titan::train::step_memory_test {
namespace {

using enum ActionKind;

/// Of one rank that has all micro-batches.
SumOrder alone(std::uint32_t count) { return {count, share_per_micro_batch(count, 1, 1, 0), 0}; }

StepBytes peak(std::vector<Action> row, const StageBytes& stage, const SumOrder& order) {
  return peak_of_row(row, {stage}, order);
}

std::vector<Action> one_by_one(std::uint32_t count) {
  std::vector<Action> row;
  for (std::uint32_t i = 0; i < count; ++i) {
    row.push_back({kForward, 0, i});
    row.push_back({kBackward, 0, i});
  }
  return row;
}

TEST(StepMemory, SumsWaitForTheirSiblings) {
  const StageBytes stage{.sum = 100};
  for (const auto& [count, sums] : {std::pair{1U, 1U}, {2U, 1U}, {4U, 2U}, {8U, 3U}, {128U, 7U}})
    EXPECT_EQ(peak(one_by_one(count), stage, alone(count)).sums, 100 * sums) << count;
}

// A gradient stands beside the sum that it is added to.
TEST(StepMemory, TheLastGradientStandsBesideItsSum) {
  const StageBytes stage{.sum = 100, .last_sum = 30};
  EXPECT_EQ(peak(one_by_one(1), stage, alone(1)).sums, 100U);
  EXPECT_EQ(peak(one_by_one(2), stage, alone(2)).sums, 100U + 30);
}

TEST(StepMemory, ActivationsAreThoseOfTheMicroBatchesInFlight) {
  const StageBytes stage{.flight = 10, .forward = 5, .backward = 3};
  EXPECT_EQ(peak(one_by_one(4), stage, alone(4)).activations, 15U);
  const std::vector<Action> two{{kForward, 0, 0}, {kForward, 0, 1},  {kBackward, 0, 0},
                                {kForward, 0, 2}, {kBackward, 0, 1}, {kBackward, 0, 2}};
  EXPECT_EQ(peak(two, stage, alone(3)).activations, 25U);
}

TEST(StepMemory, ThePeakIsOfBothTogether) {
  // The most sums are there at the end, the most activations at the beginning.
  const std::vector<Action> row{{kForward, 0, 0},  {kForward, 0, 1},  {kForward, 0, 2},  {kForward, 0, 3},
                                {kBackward, 0, 0}, {kBackward, 0, 1}, {kBackward, 0, 2}, {kBackward, 0, 3}};
  const StepBytes light = peak(row, {.flight = 10, .sum = 1000}, alone(4));
  EXPECT_EQ(light.sums, 2000U);
  EXPECT_EQ(light.activations, 10U);
  const StepBytes heavy = peak(row, {.flight = 1000, .sum = 10}, alone(4));
  EXPECT_EQ(heavy.sums, 0U);
  EXPECT_EQ(heavy.activations, 4000U);
}

// What is recomputed layer by layer is most at the lowest, when the gradients of the others are there.
TEST(StepMemory, TheLowestLayerMayBeTheWorst) {
  const StageBytes stage{.flight = 10, .backward = 50, .lowest = 55, .sum = 100, .lowest_sum = 40};
  const StepBytes most = peak(one_by_one(1), stage, alone(1));
  EXPECT_EQ(most.sums, 60U);
  EXPECT_EQ(most.activations, 55U);
}

TEST(StepMemory, TheHeadsGradientComesWithTheForward) {
  const std::vector<Action> row{{kForward, 0, 0}, {kForward, 0, 1}, {kBackward, 0, 0}, {kBackward, 0, 1}};
  const StepBytes most = peak(row, {.flight = 1, .head_sum = 100}, alone(2));
  EXPECT_EQ(most.sums, 200U);
  EXPECT_EQ(most.activations, 2U);
}

TEST(StepMemory, OperandsStayBetweenIAndW) {
  const std::vector<Action> row{{kForward, 0, 0},       {kBackwardInput, 0, 0},  {kForward, 0, 1},
                                {kBackwardInput, 0, 1}, {kBackwardWeight, 0, 0}, {kBackwardWeight, 0, 1}};
  EXPECT_EQ(peak(row, {.flight = 10, .operands = 7, .backward = 1}, alone(2)).activations, 18U);
}

TEST(StepMemory, InTurnsARankHoldsWhatItOwns) {
  const StageBytes stage{.sum = 100, .owned = 25};
  const SumOrder order{8, share_per_micro_batch(8, 4, 4, 3), 4};
  // Of the first turn one sum of four is left, beside the gradients of the second.
  EXPECT_EQ(peak(one_by_one(2), stage, order).sums, 25U + 100);
  // A rank that lacks the last micro-batch takes part in its exchange.
  const SumOrder fewer{7, share_per_micro_batch(7, 4, 4, 3), 4};
  EXPECT_EQ(fewer.share.count, 1U);
  EXPECT_EQ(peak(one_by_one(2), stage, fewer).sums, 100U);
}

TEST(StepMemory, InTurnsOfADomainTheSumsAreThoseOfItsBlock) {
  const StageBytes stage{.sum = 100, .owned = 50};
  // The second of two domains of two, with micro-batches 4 to 7: after each turn a node of two, at the end one of four.
  const SumOrder order{8, share_per_micro_batch(8, 4, 2, 2), 2};
  EXPECT_EQ(peak(one_by_one(1), stage, order).sums, 100U);
  EXPECT_EQ(peak(one_by_one(2), stage, order).sums, 50U + 100);
  // Of 6 it has 3 to 5, and 3 and 4 are not halves of one node.
  EXPECT_EQ(peak(one_by_one(2), {.owned = 50}, {6, share_per_micro_batch(6, 4, 2, 2), 2}).sums, 100U);
}

TEST(StepMemory, ARowOfAnotherRankIsRefused) {
  EXPECT_THROW(peak({{kForward, 3, 0}}, {}, alone(1)), std::invalid_argument);
}

TEST(StepMemory, TheBoundIsNeverLess) {
  const StageBytes stage{.flight = 10, .forward = 5, .backward = 6, .sum = 100, .head_sum = 20, .last_sum = 10};
  for (const std::uint32_t count : {1U, 2U, 5U, 8U, 33U}) {
    const StepBytes exact = peak(one_by_one(count), stage, alone(count)),
                    bound = bound_of_row(1, 7, {stage}, alone(count));
    EXPECT_GE(bound.total(), exact.total()) << count;
  }
}

}  // namespace
}  // namespace titan::train::step_memory_test
