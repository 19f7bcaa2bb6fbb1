#include "recipe/history/save_record.h"

#include <gtest/gtest.h>

namespace titan::recipe::save_record_test {
namespace {

MetricsLine step(std::uint64_t number, double seconds) {
  MetricsLine line;
  line.step = number;
  line.loss = 1;
  line.time_s = seconds;
  return line;
}
MetricsLine event(const char* name) {
  MetricsLine line;
  line.event = name;
  return line;
}
MetricsLine save(double seconds, std::optional<double> stall = std::nullopt) {
  MetricsLine line = event("save_commit");
  line.seconds = seconds;
  line.stall_s = stall;
  line.bytes = 100 * seconds;
  return line;
}

TEST(SaveRecord, MediansWithoutFirstSteps) {
  SaveRecordBuilder builder;
  builder.take(event("start"));
  for (const double seconds : {9.0, 1.0, 2.0, 3.0}) builder.take(step(1, seconds));
  for (const double seconds : {5.0, 1.0, 2.0}) builder.take(save(seconds));
  builder.take(event("save_failed"));
  const SaveRecord record = builder.finish();
  EXPECT_EQ(record.step_s, 2);
  EXPECT_EQ(record.step_median_of, 3u);
  EXPECT_EQ(record.save_s, 2);
  EXPECT_FALSE(record.stall_s);
  EXPECT_EQ(record.save_bytes, 200);
  EXPECT_EQ(record.saves, 3u);
  EXPECT_EQ(record.failed, 1u);
  EXPECT_EQ(record.steps_total_s, 15);
  EXPECT_EQ(record.saves_total_s, 8);
}

TEST(SaveRecord, ANewStartHasItsOwnSteps) {
  SaveRecordBuilder builder;
  builder.take(event("start"));
  builder.take(step(1, 9));
  builder.take(step(2, 4));
  builder.take(event("resume"));
  builder.take(step(3, 8));
  EXPECT_FALSE(builder.finish().step_s) << "its first step warms up";
  builder.take(step(4, 1));
  EXPECT_EQ(builder.finish().step_s, 1);
  EXPECT_EQ(builder.finish().resumes, 1u);
  EXPECT_EQ(builder.finish().last_step, 4u);
}

TEST(SaveRecord, WhatTrainingWaitsForCountsWhereItIsKnown) {
  SaveRecordBuilder builder;
  builder.take(save(10, 0.5));
  builder.take(save(10, 0.25));
  builder.take(save(10, 0.75));
  EXPECT_EQ(builder.finish().stall_s, 0.5);
  EXPECT_EQ(builder.finish().saves_total_s, 1.5);
}

TEST(SaveRecord, TheLastOnesCount) {
  SaveRecordBuilder builder;
  for (int i = 0; i < 50; ++i) builder.take(save(9));
  for (int i = 0; i < 50; ++i) builder.take(save(1));
  EXPECT_EQ(builder.finish().save_s, 1);
}

TEST(SaveRecord, OddNumbersAreNone) {
  SaveRecordBuilder builder;
  for (const double odd : {-1.0, 0.0, 1.0 / 0.0, 0.0 / 0.0}) {
    builder.take(step(1, odd));
    builder.take(save(odd, odd));
  }
  const SaveRecord record = builder.finish();
  EXPECT_FALSE(record.step_s || record.save_s || record.stall_s || record.save_bytes);
  EXPECT_EQ(record.saves, 4u);
}

}  // namespace
}  // namespace titan::recipe::save_record_test
