#include "libtrain/job/metrics/board_tags.h"

#include <gtest/gtest.h>

#include <algorithm>

namespace titan::train::board_tags_test {
namespace {

std::vector<std::string> tags(const std::vector<BoardScalar>& scalars) {
  std::vector<std::string> names;
  for (const BoardScalar& scalar : scalars) names.push_back(scalar.tag);
  return names;
}

TEST(BoardTags, AreTorchtitans) {
  StepMetrics m;
  m.loss = 1;
  m.max_loss = 2;
  m.tps = 7;
  m.time_s = 4;
  m.times.data = 1;
  m.tflops = 8;
  m.mfu = 9;
  m.memory = {3u << 30, 1u << 30};
  const std::vector<BoardScalar> all = board_scalars(m);
  for (const BoardScalar& wanted : std::vector<BoardScalar>{{"loss_metrics/global_avg_loss", 1},
                                                            {"loss_metrics/global_max_loss", 2},
                                                            {"throughput(tps)", 7},
                                                            {"tflops", 8},
                                                            {"mfu(%)", 9},
                                                            {"time_metrics/end_to_end(s)", 4},
                                                            {"time_metrics/data_loading(s)", 1},
                                                            {"time_metrics/data_loading(%)", 25},
                                                            {"memory/max_active(GiB)", 1},
                                                            {"memory/max_reserved(GiB)", 3}})
    EXPECT_NE(std::ranges::find(all, wanted), all.end()) << wanted.tag;
}

TEST(BoardTags, WhatIsUnknownHasNoPoint) {
  const std::vector<std::string> all = tags(board_scalars(StepMetrics{}));
  for (const char* unknown :
       {"tflops", "mfu(%)", "memory/max_active(GiB)", "memory/max_reserved(GiB)", "time_metrics/data_loading(%)"})
    EXPECT_EQ(std::ranges::find(all, unknown), all.end()) << unknown;
  EXPECT_EQ(tags(board_scalars(ValidationMetrics{})),
            (std::vector<std::string>{"validation_metrics/loss", "validation_metrics/throughput(tps)"}));
}

TEST(BoardTags, OfASave) {
  const std::vector<BoardScalar> all = board_scalars(SaveMetrics{.bytes = 10, .stall_s = 2, .write_s = 3});
  for (const BoardScalar& wanted :
       std::vector<BoardScalar>{{"checkpoint/bytes", 10}, {"checkpoint/stall_s", 2}, {"checkpoint/write_s", 3}})
    EXPECT_NE(std::ranges::find(all, wanted), all.end()) << wanted.tag;
}

}  // namespace
}  // namespace titan::train::board_tags_test
