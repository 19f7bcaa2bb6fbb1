#include "libtrain/pipeline/schedule.h"

#include <gtest/gtest.h>

#include <algorithm>

namespace titan::train {
namespace {

using ckpt::Code;

std::string rows(const std::string& name, std::uint32_t stages, std::uint32_t micro_batches) {
  const auto table = make_schedule(name, stages, micro_batches);
  return table.ok() ? to_csv(table.value()) : table.status().message;
}

TEST(Schedule, OrdersGPipeAllForwardsThenAllBackwardsAscending) {
  EXPECT_EQ(rows("GPipe", 2, 3), "0F0,0F1,0F2,0B0,0B1,0B2\n1F0,1F1,1F2,1B0,1B1,1B2\n");
  EXPECT_EQ(rows("GPipe", 1, 1), "0F0,0B0\n");
}

TEST(Schedule, OrdersOneForwardOneBackwardByWarmUpSteadyStateAndDrain) {
  EXPECT_EQ(rows("1F1B", 3, 4),
            "0F0,0F1,0F2,0B0,0F3,0B1,0B2,0B3\n"
            "1F0,1F1,1B0,1F2,1B1,1F3,1B2,1B3\n"
            "2F0,2B0,2F1,2B1,2F2,2B2,2F3,2B3\n");
  EXPECT_EQ(rows("1F1B", 4, 1), "0F0,0B0\n1F0,1B0\n2F0,2B0\n3F0,3B0\n");
  EXPECT_EQ(rows("1F1B", 1, 3), "0F0,0B0,0F1,0B1,0F2,0B2\n");
}

TEST(Schedule, RunsEachForwardBeforeItsBackwardOnceOnEveryStage) {
  for (const char* name : {"GPipe", "1F1B"}) {
    for (std::uint32_t p = 1; p <= 9; ++p) {
      for (std::uint32_t m = 1; m <= 20; ++m) {
        const auto table = make_schedule(name, p, m);
        ASSERT_TRUE(table.ok()) << table.status().to_string();
        ASSERT_EQ(table->size(), p);
        for (std::uint32_t r = 0; r < p; ++r) {
          const std::vector<Action>& row = (*table)[r];
          ASSERT_EQ(row.size(), 2 * m);
          for (std::uint32_t i = 0; i < m; ++i) {
            const auto forward = std::find(row.begin(), row.end(), Action{ActionKind::kForward, r, i});
            const auto backward = std::find(row.begin(), row.end(), Action{ActionKind::kBackward, r, i});
            ASSERT_TRUE(forward != row.end() && backward != row.end());
            EXPECT_LT(forward, backward);
          }
        }
      }
    }
  }
}

TEST(Schedule, KeepsMicroBatchesAscendingSoThatGradientSumsAreInIndexOrder) {
  for (const char* name : {"GPipe", "1F1B"}) {
    const auto table = make_schedule(name, 4, 9);
    ASSERT_TRUE(table.ok());
    for (const auto& row : *table) {
      std::uint32_t next[2] = {0, 0};
      for (const Action& action : row)
        EXPECT_EQ(action.micro_batch, next[action.kind == ActionKind::kForward ? 0 : 1]++);
    }
  }
}

TEST(Schedule, RefusesOtherNamesAndEmptyPipelines) {
  const struct {
    const char* name;
    std::uint32_t stages, micro_batches;
    Code code;
    const char* text;
  } cases[] = {
      {"Interleaved1F1B", 2, 4, Code::kUnsupported, "not supported yet"},
      {"LoopedBFS", 2, 4, Code::kUnsupported, "not supported yet"},
      {"InterleavedZeroBubble", 2, 4, Code::kUnsupported, "not supported yet"},
      {"ZBVZeroBubble", 2, 4, Code::kUnsupported, "not supported yet"},
      {"DualPipeV", 2, 4, Code::kUnsupported, "not supported yet"},
      {"gpipe", 2, 4, Code::kInvalid, "did you mean `GPipe`?"},
      {"GPip", 2, 4, Code::kInvalid, "did you mean `GPipe`?"},
      {"1f1b", 2, 4, Code::kInvalid, "did you mean `1F1B`?"},
      {"1F1", 2, 4, Code::kInvalid, "did you mean `1F1B`?"},
      {"breadth-first", 2, 4, Code::kInvalid, "known are GPipe, 1F1B"},
      {"", 2, 4, Code::kInvalid, "known are GPipe, 1F1B"},
      {"GPipe", 0, 4, Code::kInvalid, "at least one stage"},
      {"1F1B", 2, 0, Code::kInvalid, "at least one stage and one micro-batch"},
  };
  for (const auto& c : cases) {
    const auto table = make_schedule(c.name, c.stages, c.micro_batches);
    ASSERT_FALSE(table.ok()) << c.name;
    EXPECT_EQ(table.status().code, c.code) << c.name;
    EXPECT_NE(table.status().to_string().find(c.text), std::string::npos) << table.status().to_string();
  }
}

TEST(Schedule, PrintsTorchtitansCells) {
  using enum ActionKind;
  const ScheduleTable table = {{{kForward, 0, 12}, {kSendForward, 0, 12}, {kRecvBackward, 0, 12}},
                               {{kRecvForward, 1, 12}, {kBackward, 1, 12}, {kSendBackward, 1, 12}}};
  EXPECT_EQ(to_csv(table), "0F12,0SEND_F12,0RECV_B12\n1RECV_F12,1B12,1SEND_B12\n");
}

}  // namespace
}  // namespace titan::train
