#include "libtrain/job/schedule/schedule.h"

#include <gtest/gtest.h>

namespace titan::train::schedule_test {
namespace {

using enum recipe::ScheduleKind;

std::string rows(recipe::ScheduleKind kind, recipe::PipelineShape shape) {
  const auto table = make_schedule(kind, shape);
  return table.ok() ? to_csv(table.value()) : table.status().message;
}

TEST(Schedule, OrdersGPipeAllForwardsThenAllBackwardsAscending) {
  EXPECT_EQ(rows(kGPipe, {2, 1, 3}), "0F0,0F1,0F2,0B0,0B1,0B2\n1F0,1F1,1F2,1B0,1B1,1B2\n");
  EXPECT_EQ(rows(kGPipe, {1, 1, 1}), "0F0,0B0\n");
}

TEST(Schedule, OrdersOneForwardOneBackwardByWarmUpSteadyStateAndDrain) {
  EXPECT_EQ(rows(k1F1B, {3, 1, 4}),
            "0F0,0F1,0F2,0B0,0F3,0B1,0B2,0B3\n"
            "1F0,1F1,1B0,1F2,1B1,1F3,1B2,1B3\n"
            "2F0,2B0,2F1,2B1,2F2,2B2,2F3,2B3\n");
  EXPECT_EQ(rows(k1F1B, {4, 1, 1}), "0F0,0B0\n1F0,1B0\n2F0,2B0\n3F0,3B0\n");
  EXPECT_EQ(rows(k1F1B, {1, 1, 3}), "0F0,0B0,0F1,0B1,0F2,0B2\n");
}

TEST(Schedule, ZbH1PutsOffAsManyWeightsAsTheRanksNumber) {
  EXPECT_EQ(rows(kZbH1, {2, 1, 4}),
            "0F0,0F1,0I0,0W0,0F2,0I1,0W1,0F3,0I2,0W2,0I3,0W3\n"
            "1F0,1I0,1F1,1I1,1W0,1F2,1I2,1W1,1F3,1I3,1W2,1W3\n");
}

TEST(Schedule, LoopedBfsBeginsBackwardsWithTheNewest) {
  EXPECT_EQ(rows(kLoopedBfs, {2, 2, 2}),
            "0F0,0F1,2F0,2F1,2B1,2B0,0B1,0B0\n"
            "1F0,1F1,3F0,3F1,3B1,3B0,1B1,1B0\n");
}

TEST(Schedule, InterleavedGoesThroughItsStagesInRounds) {
  EXPECT_EQ(rows(kInterleaved1F1B, {2, 2, 2}),
            "0F0,0F1,2F0,2F1,2B0,2B1,0B0,0B1\n"
            "1F0,1F1,3F0,3B0,3F1,3B1,1B0,1B1\n");
}

TEST(Schedule, PutsAVPlacementsFirstAndLastStageOnRank0) {
  const auto table = make_schedule(kZbvZeroBubble, {2, 2, 4}).value();
  EXPECT_EQ(to_csv(table),
            "0F0,0F1,0F2,3F0,3I0,3W0,3F1,3I1,3W1,0F3,0I0,0W0,3F2,3I2,3W2,0I1,0W1,3F3,3I3,3W3,0I2,0W2,0I3,0W3\n"
            "1F0,2F0,1F1,2F1,2I0,2W0,1F2,1I0,1W0,2F2,2I1,2W1,1F3,1I1,1W1,2F3,2I2,2W2,1I2,2I3,1I3,1W2,2W3,1W3\n");
}

TEST(Schedule, HasEachActionOnceOnTheRankOfItsStage) {
  for (const recipe::ScheduleFacts& facts : recipe::schedules()) {
    for (std::uint32_t p = 1; p <= 9; ++p) {
      for (std::uint32_t m = 1; m <= 20; ++m) {
        const recipe::PipelineShape shape{p, facts.least_chunks, m};
        if (!recipe::check_shape(facts.kind, shape).ok()) continue;
        const ScheduleTable table = make_schedule(facts.kind, shape).value();
        ASSERT_EQ(table.size(), p);
        std::size_t forwards = 0, inputs = 0, weights = 0;
        for (std::uint32_t rank = 0; rank < p; ++rank) {
          for (const Action& action : table[rank]) {
            EXPECT_EQ(recipe::rank_of_stage(facts.placement, p, action.stage), rank);
            forwards += action.kind == ActionKind::kForward;
            inputs += gives_input_gradient(action.kind);
            weights += action.kind == ActionKind::kBackwardWeight || action.kind == ActionKind::kBackward;
          }
        }
        EXPECT_EQ(forwards, std::size_t{m} * shape.stages()) << facts.name << " p " << p << " m " << m;
        EXPECT_EQ(inputs, forwards) << facts.name << " p " << p << " m " << m;
        EXPECT_EQ(weights, forwards) << facts.name << " p " << p << " m " << m;
      }
    }
  }
}

TEST(Schedule, RefusesAShapeThatItCannotCarryOut) {
  EXPECT_EQ(make_schedule(kDualPipeV, {4, 2, 7}).status().code, ckpt::Code::kInvalid);
}

TEST(Schedule, PrintsTorchtitansCells) {
  using enum ActionKind;
  const ScheduleTable table = {{{kForward, 0, 12}, {kSendForward, 0, 12}, {kRecvBackward, 0, 12}},
                               {{kRecvForward, 1, 12}, {kBackwardInput, 1, 12}, {kBackwardWeight, 1, 12}}};
  EXPECT_EQ(to_csv(table), "0F12,0SEND_F12,0RECV_B12\n1RECV_F12,1I12,1W12\n");
}

}  // namespace
}  // namespace titan::train::schedule_test
