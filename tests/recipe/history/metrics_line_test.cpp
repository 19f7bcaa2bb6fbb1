#include "recipe/history/metrics_line.h"

#include <cmath>

#include <gtest/gtest.h>

namespace titan::recipe::metrics_line_test {
namespace {

TEST(MetricsLine, ReadsAStep) {
  const auto line = read_metrics_line(
      R"({"schema":"titan.metrics/1","step":12,"time":"t","attempt":3,"loss":2.5,"grad_norm":0.5,"lr":1e-3,"tokens":4096,"tps":100.5,"time_s":0.25})");
  ASSERT_TRUE(line);
  EXPECT_TRUE(line->is_step());
  EXPECT_EQ(line->step, 12u);
  EXPECT_EQ(line->attempt, 3u);
  EXPECT_EQ(line->loss, 2.5);
  EXPECT_EQ(line->grad_norm, 0.5);
  EXPECT_EQ(line->lr, 1e-3);
  EXPECT_EQ(line->tokens, 4096);
  EXPECT_EQ(line->tps, 100.5);
  EXPECT_EQ(line->time_s, 0.25);
  EXPECT_FALSE(line->tps_total);
}

TEST(MetricsLine, ReadsEvents) {
  const auto start = read_metrics_line(R"({"step":7,"event":"resume","dp":4,"pp":2,"schedule":"GPipe"})");
  ASSERT_TRUE(start);
  EXPECT_TRUE(start->is_start());
  EXPECT_FALSE(start->is_step());
  EXPECT_EQ(start->dp, 4);
  EXPECT_EQ(start->schedule, "GPipe");
  const auto save = read_metrics_line(R"({"step":7,"event":"save_commit","bytes":9,"seconds":2,"stall_s":0.5})");
  ASSERT_TRUE(save);
  EXPECT_EQ(save->bytes, 9);
  EXPECT_EQ(save->stall_s, 0.5);
}

TEST(MetricsLine, NonFiniteNumbersAreTexts) {
  const auto line = read_metrics_line(R"({"step":1,"loss":"nan","grad_norm":"inf","lr":"-inf","tps":"fast"})");
  ASSERT_TRUE(line);
  EXPECT_TRUE(std::isnan(*line->loss));
  EXPECT_EQ(*line->grad_norm, INFINITY);
  EXPECT_EQ(*line->lr, -INFINITY);
  EXPECT_FALSE(line->tps);
}

TEST(MetricsLine, OtherTypesAndFieldsArePassedOver) {
  const auto line = read_metrics_line(
      R"({"step":1,"loss":3,"lr":null,"grad_norm":[1,2],"tps":{"a":1},"event":5,"new":{"x":[true]}})");
  ASSERT_TRUE(line);
  EXPECT_TRUE(line->is_step());
  EXPECT_FALSE(line->lr || line->grad_norm || line->tps);
}

TEST(MetricsLine, WhatIsNoLineIsNothing) {
  for (const char* text : {"", "{", "null", "[]", R"({"loss":1})", R"({"step":-1})", R"({"step":1.5})",
                           R"({"step":"1"})", R"({"step":1}x)", R"({"step":1,"loss":2)", R"({"step":1,"loss":0x2})",
                           "{\"step\":1,\"a\":\"\xff\"}", R"({"step":99999999999999999999})"})
    EXPECT_FALSE(read_metrics_line(text)) << text;
}

/// Every cut and every changed byte of a line: an answer, and never a step that is another number's beginning.
TEST(MetricsLine, AnyDamageIsSurvived) {
  const std::string good =
      R"({"schema":"titan.metrics/1","step":12,"time":"t","attempt":1,"loss":2.5,"tokens":64,"event":"save_commit","bytes":1})";
  for (std::size_t size = 0; size < good.size(); ++size) EXPECT_FALSE(read_metrics_line(good.substr(0, size)));
  for (std::size_t at = 0; at < good.size(); ++at) {
    for (const char byte : std::string_view("\0\"{},:-9e\\\x80\xff", 12)) {
      std::string bad = good;
      bad[at] = byte;
      const auto line = read_metrics_line(bad);
      EXPECT_FALSE(line && line->loss && std::isnan(*line->loss));
    }
  }
}

}  // namespace
}  // namespace titan::recipe::metrics_line_test
