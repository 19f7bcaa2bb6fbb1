// The learning rate of a Megatron run, as OptimizerParamScheduler computes it.
#include "converters/megatron/schedule.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <numbers>

#include "ckpt/plan/lr_schedule.h"

namespace titan::convert::megatron::schedule_test {
namespace {

using ckpt::Code;
using ::testing::HasSubstr;

// get_lr of optimizer_param_scheduler.py, for a position in samples.
double theirs(const Scheduler& s, double position) {
  if (s.warmup > 0 && position <= s.warmup) return s.init_lr + (s.max_lr - s.init_lr) * position / s.warmup;
  if (s.style == "constant") return s.max_lr;
  if (position > s.decay) return s.min_lr;
  const double ratio = (position - s.warmup) / (s.decay - s.warmup), delta = s.max_lr - s.min_lr;
  const double late = (position - (s.decay - s.wsd_decay)) / s.wsd_decay;
  if (s.style == "linear") return s.min_lr + (1 - ratio) * delta;
  if (s.style == "cosine") return s.min_lr + 0.5 * (std::cos(std::numbers::pi * ratio) + 1) * delta;
  return s.min_lr + (late <= 0 ? 1.0 : 1 - std::sqrt(late)) * delta;
}

Scheduler of_style(const std::string& style) { return {1e-4, 1e-2, 1e-3, 8, 60, 20, 24, style, "minus_sqrt"}; }

TEST(MegatronSchedule, HasTheRateOfEveryStep) {
  for (const char* style : {"linear", "cosine", "constant", "WSD"}) {
    for (const std::uint64_t step : {0, 1, 5}) {
      Scheduler scheduler = of_style(style);
      scheduler.position = static_cast<double>(step) * 4;
      const auto phases = phases_of("c", scheduler, step, 4);
      ASSERT_TRUE(phases.ok()) << phases.status().to_string();
      for (std::uint64_t n = 1; n <= 20; ++n)
        EXPECT_NEAR(ckpt::lr_at(*phases, n), theirs(scheduler, static_cast<double>(n - 1) * 4), 1e-15) << style << n;
    }
  }
}

TEST(MegatronSchedule, GoesOnFromThePositionWhereBatchesWereSmallerBefore) {
  Scheduler scheduler = of_style("linear");
  scheduler.position = 10;  // after 5 steps
  const auto phases = phases_of("c", scheduler, 5, 4);
  ASSERT_TRUE(phases.ok());
  for (std::uint64_t n = 6; n <= 20; ++n)
    EXPECT_NEAR(ckpt::lr_at(*phases, n), theirs(scheduler, 10 + static_cast<double>(n - 6) * 4), 1e-15) << n;
}

TEST(MegatronSchedule, RefusesWhatItLacks) {
  Scheduler other = of_style("inverse-square-root");
  EXPECT_EQ(phases_of("c", other, 5, 4).status().code, Code::kUnsupported);
  other = of_style("WSD");
  other.wsd_style = "exponential";
  EXPECT_THAT(phases_of("c", other, 5, 4).status().message, HasSubstr("\"exponential\""));
  for (const auto& [warmup, decay] : {std::pair{8.0, 8.0}, {-1.0, 60.0}, {8.0, NAN}, {8.0, 1e300}}) {
    Scheduler scheduler = of_style("linear");
    scheduler.warmup = warmup;
    scheduler.decay = decay;
    EXPECT_EQ(phases_of("c", scheduler, 5, 4).status().code, Code::kIncompatible) << warmup << " " << decay;
  }
}

TEST(MegatronSchedule, ComparesAConfigurationBeyondTheWarmUp) {
  const Scheduler scheduler = of_style("linear");
  const ckpt::LrSettings same{1e-2, 2, 15, std::nullopt, "linear", 0.1};
  EXPECT_TRUE(check_curve("c", scheduler, 5, 4, same).ok());
  ckpt::LrSettings other = same;
  other.total_steps = 16;
  const Status longer = check_curve("c", scheduler, 5, 4, other);
  EXPECT_EQ(longer.code, Code::kIncompatible);
  EXPECT_THAT(longer.message, HasSubstr("the learning rate of step 6 is"));
  EXPECT_THAT(longer.hint, HasSubstr("--set training.steps=15 "));
  other = same;
  other.warmup_steps = 3;
  Scheduler early = scheduler;
  early.position = 4;
  EXPECT_THAT(check_curve("c", early, 1, 4, other).message, HasSubstr("warms up for 2 steps"));
  EXPECT_TRUE(check_curve("c", early, 1, 4, same).ok());
  other = same;
  other.decay_ratio = 0.4;
  other.decay_type = "sqrt";
  EXPECT_FALSE(check_curve("c", scheduler, 5, 4, other).ok());
  EXPECT_TRUE(check_curve("c", of_style("WSD"), 5, 4, other).ok());
  other = same;
  other.decay_ratio = 0;
  other.min_lr_factor = 1;
  EXPECT_TRUE(check_curve("c", of_style("constant"), 5, 4, other).ok());
}

}  // namespace
}  // namespace titan::convert::megatron::schedule_test
