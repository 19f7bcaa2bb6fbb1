#include "recipe/history/curves.h"

#include <cmath>

#include <gtest/gtest.h>

#include "ckpt/base/fs_posix.h"
#include "tests/support/scratch_dir.h"

namespace titan::recipe::curves_test {
namespace {

MetricsLine step(std::uint64_t number, double loss) {
  MetricsLine line;
  line.step = number;
  line.loss = loss;
  line.tokens = 100.0 * static_cast<double>(number);
  line.tps = 10;
  return line;
}

MetricsLine start(const char* event, std::uint64_t number, double dp, double pp, const char* schedule = "1F1B") {
  MetricsLine line;
  line.step = number;
  line.event = event;
  line.dp = dp;
  line.pp = pp;
  line.schedule = schedule;
  return line;
}

TEST(Curves, OverStepsAndTokens) {
  for (const XAxis x : {XAxis::kStep, XAxis::kTokens}) {
    CurveBuilder builder({.x = x});
    builder.take(start("start", 0, 2, 2));
    builder.take(step(1, 5));
    builder.take(step(2, 4));
    builder.take(start("resume", 2, 4, 1));
    builder.take(step(3, 4.5));
    const RunCurves run = builder.finish();
    const double unit = x == XAxis::kStep ? 1 : 100;
    EXPECT_EQ(run.of(Quantity::kLoss).points, (std::vector<Point>{{unit, 5}, {2 * unit, 4}, {3 * unit, 4.5}}));
    EXPECT_EQ(run.of(Quantity::kTps).points[0].y, 40) << "tokens of all ranks";
    EXPECT_EQ(*run.of(Quantity::kLoss).least, (Point{2 * unit, 4}));
    ASSERT_EQ(run.restarts.size(), 1u);
    EXPECT_EQ(run.restarts[0], (RestartMark{2, 2 * unit, "2x2 -> 4x1 (DP x PP)"}));
    EXPECT_EQ(run.steps, 3u);
  }
}

TEST(Curves, ARestartBeforeAllStepsWaitsForItsPlace) {
  CurveBuilder builder({.x = XAxis::kTokens});
  builder.take(start("resume", 7, 1, 1));
  builder.take(step(8, 5));
  EXPECT_EQ(builder.finish().restarts[0].x, 800);
}

TEST(Curves, AScheduleThatChangesIsSaid) {
  CurveBuilder builder({});
  builder.take(start("start", 0, 1, 2));
  builder.take(start("resume", 4, 1, 2, "GPipe"));
  builder.take(start("resume", 5, 1, 2, "GPipe"));
  const RunCurves run = builder.finish();
  EXPECT_EQ(run.restarts[0].change, "1F1B -> GPipe");
  EXPECT_EQ(run.restarts[1].change, "");
}

TEST(Curves, TotalsOfLaterVersionsWin) {
  CurveBuilder builder({});
  builder.take(start("start", 0, 2, 2));
  MetricsLine line = step(1, 5);
  line.tps_total = 33;
  builder.take(line);
  EXPECT_EQ(builder.finish().of(Quantity::kTps).points[0].y, 33);
}

TEST(Curves, WithoutAStartRanksAreNotKnown) {
  CurveBuilder builder({});
  builder.take(step(1, 5));
  const RunCurves run = builder.finish();
  EXPECT_TRUE(run.tps_of_a_rank);
  EXPECT_EQ(run.notes(XAxis::kStep).size(), 1u);
}

TEST(Curves, ARangeAndWhatTheAverageSaw) {
  CurveBuilder builder({.from = 2, .to = 3, .smooth = 0.5});
  for (std::uint64_t i = 1; i <= 4; ++i) builder.take(step(i, static_cast<double>(i)));
  const RunCurves run = builder.finish();
  EXPECT_EQ(run.of(Quantity::kLoss).points, (std::vector<Point>{{2, 2}, {3, 3}}));
  EXPECT_DOUBLE_EQ(run.of(Quantity::kLoss).smooth[0].y, (0.25 * 1 + 0.5 * 2) / 0.75);
  EXPECT_TRUE(run.of(Quantity::kLr).smooth.empty());
  EXPECT_EQ(run.first_step, 2u);
  EXPECT_EQ(run.last_step, 3u);
}

TEST(Curves, ValuesThatAreNotFiniteAreSaid) {
  CurveBuilder builder({});
  builder.take(start("start", 0, 1, 1));
  builder.take(step(1, 5));
  builder.take(step(2, NAN));
  builder.take(step(3, INFINITY));
  const RunCurves run = builder.finish();
  EXPECT_EQ(run.of(Quantity::kLoss).count, 1u);
  EXPECT_EQ(run.of(Quantity::kLoss).non_finite, 2u);
  EXPECT_EQ(run.notes(XAxis::kStep)[0], ": loss is not finite at 2 steps, from step 2 on");
}

TEST(Curves, DegreesThatAreNoneAreNotTaken) {
  CurveBuilder builder({});
  builder.take(start("start", 0, -1, 1e300));
  builder.take(start("resume", 1, NAN, 2));
  builder.take(step(2, 1));
  EXPECT_EQ(builder.finish().restarts[0].change, "");
}

TEST(Curves, NamesTellRunsApart) {
  train::ScratchDir dir;
  dir.write("a/run/metrics.jsonl", "");
  dir.write("b/run/metrics.jsonl", "");
  dir.write("c/metrics.jsonl", "");
  EXPECT_EQ(run_names(ckpt::posix_fs(), {dir / "a/run/", dir / "b/run/metrics.jsonl", dir / "c"}),
            (std::vector<std::string>{dir / "a/run", dir / "b/run/metrics.jsonl", "c"}));
}

TEST(Ema, AgreesWithTheFormula) {
  Ema ema(0.5);
  EXPECT_DOUBLE_EQ(ema.add(4), 4);  // (0.5 * 4) / 0.5
  EXPECT_DOUBLE_EQ(ema.add(8), (0.25 * 4 + 0.5 * 8) / 0.75);
  EXPECT_DOUBLE_EQ(ema.add(0), (0.125 * 4 + 0.25 * 8) / 0.875);
}

TEST(Ema, AConstantStaysItself) {
  Ema ema(0.99);
  for (int i = 0; i < 1000; ++i) EXPECT_NEAR(ema.add(3), 3, 1e-9);
}

TEST(Ema, WithoutWeightItIsTheValue) {
  Ema ema(0);
  EXPECT_EQ(ema.add(1), 1);
  EXPECT_EQ(ema.add(7), 7);
}

TEST(Ema, WhatIsNotFiniteChangesNothing) {
  Ema with(0.9), without(0.9);
  with.add(1);
  EXPECT_TRUE(std::isnan(with.add(NAN)));
  EXPECT_EQ(with.add(INFINITY), INFINITY);
  without.add(1);
  EXPECT_DOUBLE_EQ(with.add(5), without.add(5));
}

}  // namespace
}  // namespace titan::recipe::curves_test
