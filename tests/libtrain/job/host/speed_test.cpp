#include "libtrain/job/host/speed.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "ckpt/base/fs_posix.h"
#include "ckpt/base/text.h"
#include "recipe/keys/writer.h"
#include "recipe/plan/run_plan.h"
#include "tests/recipe/support/config_support.h"
#include "tests/support/scratch_dir.h"

namespace titan::train::speed_test {
namespace {

using testing::HasSubstr;

std::string start_line(int attempt, int dp, int pp, const char* event = "start") {
  return R"({"schema":"titan.metrics/1","step":0,"time":"t","attempt":)" + std::to_string(attempt) + R"(,"event":")" +
         event + R"(","dp":)" + std::to_string(dp) + R"(,"pp":)" + std::to_string(pp) + "}\n";
}

std::string step_line(int step, int attempt, double seconds) {
  return R"({"schema":"titan.metrics/1","step":)" + std::to_string(step) + R"(,"time":"t","attempt":)" +
         std::to_string(attempt) + R"(,"loss":1,"time_s":)" + std::to_string(seconds) + "}\n";
}

void take(SpeedReader& reader, const std::string& text) {
  for (const std::string& line : ckpt::split(text, '\n'))
    if (const auto read = recipe::read_metrics_line(line)) reader.take(*read);
}

TEST(SpeedReader, TakesTheMedianOfTheLastStepsOfTheNewestAttempt) {
  SpeedReader reader;
  EXPECT_EQ(reader.attempt(), 0u);
  std::string text = start_line(1, 4, 1) + step_line(1, 1, 90) + step_line(2, 1, 8) + start_line(2, 2, 1, "resume") +
                     step_line(3, 2, 50);
  for (int step = 4; step <= 60; ++step) text += step_line(step, 2, step < 10 ? 7 : 0.5);
  text += step_line(61, 2, 3) +
          R"({"schema":"titan.metrics/1","step":61,"time":"t","attempt":2,"event":"validation","time_s":9})" +
          "\n{\"torn";
  take(reader, text);
  EXPECT_EQ(reader.attempt(), 2u);
  EXPECT_EQ(reader.dp(), 2u);
  EXPECT_EQ(reader.steps(), 50u);
  EXPECT_EQ(reader.median(), 0.5);
}

TEST(SpeedReader, TheFirstStepOfAnAttemptDoesNotCount) {
  SpeedReader reader;
  take(reader, start_line(1, 1, 1) + step_line(1, 1, 90));
  EXPECT_EQ(reader.steps(), 0u);
  EXPECT_EQ(reader.median(), 0);
}

TEST(SpeedReader, CountsTheWaitForASaveAsARunOfTheIntervalAutoDoes) {
  const auto saved = [](int attempt, const char* stall) {
    return R"({"schema":"titan.metrics/1","step":3,"time":"t","event":"save_commit","attempt":)" +
           std::to_string(attempt) + R"(,"stall_s":)" + stall + "}\n";
  };
  SpeedReader reader;
  take(reader, start_line(1, 1, 1) + saved(1, "4"));
  EXPECT_EQ(reader.stall(), 4);
  take(reader, start_line(2, 1, 1, "resume"));
  EXPECT_FALSE(reader.stall()) << "each start finds out anew";
  take(reader, saved(2, "1") + saved(2, "0.5") + saved(1, "9"));
  EXPECT_EQ(reader.stall(), 0.75);
}

TEST(Speed, IsGuessedOnlyForTheSameModelBatchAndRanks) {
  const ScratchDir dir;
  const std::vector<std::string> flags = {"--model.dim=32", "--model.n_layers=2", "--model.n_heads=2",
                                          "--training.global_batch_size=16"};
  const auto plan_of = [&](std::vector<std::string> more, std::uint32_t world) {
    more.insert(more.begin(), flags.begin(), flags.end());
    return *recipe::make_run_plan(recipe::load_ok("", more).config, world);
  };
  const auto guess = [&](const recipe::RunPlan& plan, int threads = 1) {
    return guess_speed(ckpt::posix_fs(), dir / "run", plan, threads);
  };
  EXPECT_EQ(guess(plan_of({}, 1)).seconds_per_step, 0);
  EXPECT_EQ(guess(plan_of({}, 1)).why_none, "") << "no attempt, nothing to say";

  recipe::Config config = recipe::load_ok("", flags).config;
  dir.write("run/config.toml", recipe::config_toml(recipe::resolved_config(config, plan_of({}, 1), 7, 1)));
  dir.write("run/metrics.jsonl", start_line(1, 1, 1) + step_line(1, 1, 9) + step_line(2, 1, 0.25));
  EXPECT_EQ(guess(plan_of({}, 1)).seconds_per_step, 0.25);
  EXPECT_EQ(guess(plan_of({}, 1)).steps, 1u);
  EXPECT_FALSE(guess(plan_of({}, 1)).stall_s);
  EXPECT_EQ(guess(plan_of({}, 2)).why_none, "attempt 1 ran on 1x1");
  EXPECT_EQ(guess(plan_of({"--model.n_layers=3"}, 1)).why_none, "attempt 1 trained another model");
  EXPECT_EQ(guess(plan_of({"--training.mixed_precision_param=float32"}, 1)).why_none,
            "attempt 1 trained another model");
  EXPECT_EQ(guess(plan_of({"--training.seq_len=64"}, 1)).why_none, "attempt 1 had another batch or schedule");
  EXPECT_EQ(guess(plan_of({}, 1), 2).why_none, "attempt 1 had 1 thread a rank");
  EXPECT_EQ(guess(plan_of({"--activation_checkpoint.mode=full"}, 1)).why_none, "attempt 1 recomputed other layers");
  EXPECT_EQ(guess(plan_of({"--training.loss_chunk=64"}, 1)).why_none, "attempt 1 had another training.loss_chunk");
  recipe::RunPlan other = plan_of({}, 1);
  other.gemm = recipe::CpuGemm::kOneDnn;
  EXPECT_EQ(guess(other).why_none, "attempt 1 had its products by mkl");
  dir.write("run/metrics.jsonl", start_line(1, 1, 1) + step_line(1, 1, 9));
  EXPECT_THAT(guess(plan_of({}, 1)).why_none, HasSubstr("no step after its first"));
}

}  // namespace
}  // namespace titan::train::speed_test
