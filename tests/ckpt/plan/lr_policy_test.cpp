#include "ckpt/plan/lr_policy.h"

#include <gtest/gtest.h>

#include <cmath>
#include <numbers>

#include "ckpt/plan/lr_schedule.h"

namespace titan::ckpt::lr_policy_test {
namespace {

LrSettings cosine(std::uint64_t total) { return {1e-3, 10, total, std::nullopt, "cosine", 0}; }

LrSchedule applied(const LrSchedule& old, std::uint64_t step, const LrSettings& next, LrPolicy policy) {
  const Result<PolicyResult> result = apply_policy(old, step, next, policy);
  EXPECT_TRUE(result.ok()) << policy_name(policy) << ": " << result.status().to_string();
  return result.ok() ? result->schedule : LrSchedule{};
}

double half_cosine(double p) { return (1 + std::cos(std::numbers::pi * p)) / 2; }

TEST(LrPolicy, MatchesTheVectors) {
  struct Case {
    LrPolicy policy;
    double at[6];  // n = 60, 61, 101, 150, 200, 250
    std::size_t phases;
  };
  const Case cases[] = {
      {LrPolicy::kKeep, {4.30413e-4, 4.13176e-4, 0, 0, 0, 0}, 3},
      {LrPolicy::kRescale, {4.30413e-4, 4.13176e-4, 2.28727e-4, 6.32959e-5, 2.48665e-8, 0}, 4},
      {LrPolicy::kExtend, {4.30413e-4, 4.30413e-4, 4.30413e-4, 2.59951e-4, 1.31098e-7, 0}, 5},
      {LrPolicy::kRewarm, {4.30413e-4, 4.87372e-4, 8.74255e-4, 3.34046e-4, 1.45993e-7, 0}, 6},
      {LrPolicy::kConfig, {4.30413e-4, 8.38641e-4, 5.41290e-4, 1.67488e-4, 6.83475e-8, 0}, 4},
  };
  const std::uint64_t steps[] = {60, 61, 101, 150, 200, 250};
  const LrSchedule old = schedule_from(cosine(100));
  for (const Case& c : cases) {
    const LrSchedule next = applied(old, 60, cosine(200), c.policy);
    EXPECT_EQ(next.phases.size(), c.phases) << policy_name(c.policy);
    EXPECT_EQ(next.accepted, cosine(200)) << policy_name(c.policy);
    for (std::size_t i = 0; i < std::size(steps); ++i)
      EXPECT_NEAR(lr_at(next.phases, steps[i]), c.at[i], std::max(1e-12, 2e-6 * c.at[i]))
          << policy_name(c.policy) << " at step " << steps[i];
  }
}

// The same values by formulas of their own, in double: p is the share of the decay that is done.
TEST(LrPolicy, MatchesAnIndependentReferenceTo1e12) {
  const LrSchedule old = schedule_from(cosine(100));
  const double h = 1e-3 * half_cosine(49.0 / 90);
  const auto expect = [&](LrPolicy policy, std::uint64_t n, double want) {
    EXPECT_NEAR(lr_at(applied(old, 60, cosine(200), policy).phases, n), want, 1e-12)
        << policy_name(policy) << " at step " << n;
  };
  for (std::uint64_t n = 61; n <= 200; ++n) {
    const double x = static_cast<double>(n);
    expect(LrPolicy::kKeep, n, n > 100 ? 0 : 1e-3 * half_cosine((x - 11) / 90));
    expect(LrPolicy::kRescale, n, 1e-3 * half_cosine((50 + (x - 61) / 3.5) / 90));
    expect(LrPolicy::kExtend, n, n < 111 ? h : h * half_cosine((x - 111) / 90));
    expect(LrPolicy::kRewarm, n, n <= 70 ? h + (1e-3 - h) * (x - 60) / 10 : 1e-3 * half_cosine((x - 71) / 130));
    expect(LrPolicy::kConfig, n, 1e-3 * half_cosine((x - 11) / 190));
  }
}

TEST(LrPolicy, ResumeVectorAppliesTheOldCurveWithoutASettingChange) {
  // torchtitan logs f(60; T=200) = 8.386e-4 and applies f(60; T=100) = 4.132e-4 on the first step after the resume.
  const LrSchedule old = schedule_from(cosine(100));
  EXPECT_NEAR(lr_at(old.phases, 61), 4.132e-4, 5e-8);
  EXPECT_NEAR(lr_at(applied(old, 60, cosine(200), LrPolicy::kConfig).phases, 61), 8.386e-4, 5e-8);
  EXPECT_NEAR(lr_at(applied(old, 60, cosine(200), LrPolicy::kConfig).phases, 62), 8.325e-4, 5e-8);
}

TEST(LrPolicy, KeepsThePastAndStaysBetweenZeroAndThePeakOnAnyChain) {
  const std::uint64_t stops[] = {0, 3, 10, 11, 60, 99, 100, 120};
  const char* kinds[] = {"linear", "sqrt", "cosine"};
  std::size_t checked = 0;
  for (const char* kind : kinds)
    for (const std::optional<double> ratio :
         {std::optional<double>{}, std::optional<double>{0.2}, std::optional<double>{0.0}})
      for (const double floor : {0.0, 0.1})
        for (const std::uint64_t stop : stops)
          for (const std::uint64_t end : {stop + 5, std::uint64_t{150}, std::uint64_t{400}})
            for (const LrPolicy first : kLrPolicies)
              for (const LrPolicy second : kLrPolicies) {
                LrSettings settings{1e-3, 10, 100, ratio, kind, floor};
                const LrSchedule start = schedule_from(settings);
                settings.total_steps = end;
                const LrSchedule once = applied(start, stop, settings, first);
                const std::uint64_t later = (stop + end) / 2;
                settings.total_steps = end + 100;
                const LrSchedule twice = applied(once, later, settings, second);
                for (std::uint64_t n = 1; n <= end + 120; ++n) {
                  const double lr = lr_at(twice.phases, n);
                  ASSERT_TRUE(lr >= 0 && lr <= 1e-3) << lr << " at step " << n;
                  if (n <= stop) {
                    ASSERT_EQ(lr, lr_at(start.phases, n)) << "step " << n;
                  }
                  if (n <= later) {
                    ASSERT_EQ(lr, lr_at(once.phases, n)) << "step " << n;
                  }
                  ++checked;
                }
                if (first == LrPolicy::kRescale) {
                  EXPECT_NEAR(lr_at(once.phases, stop + 1), lr_at(start.phases, stop + 1), 1e-15);
                }
                for (std::size_t i = 1; i < twice.phases.size(); ++i)
                  ASSERT_LE(twice.phases[i - 1].first, twice.phases[i].first);
              }
  EXPECT_GT(checked, 1'000'000u);
}

TEST(LrPolicy, NewEndIsTheEndOfTheCurve) {
  const LrSchedule old = schedule_from(cosine(100));
  for (const LrPolicy policy : {LrPolicy::kRescale, LrPolicy::kExtend, LrPolicy::kRewarm, LrPolicy::kConfig})
    EXPECT_EQ(curve_end(applied(old, 60, cosine(200), policy).phases), 200u) << policy_name(policy);
  EXPECT_EQ(curve_end(applied(old, 60, cosine(200), LrPolicy::kKeep).phases), 100u);
}

TEST(LrPolicy, ExtendFinishesAWarmUpAndHoldsThePeak) {
  const LrSchedule next = applied(schedule_from(cosine(100)), 3, cosine(200), LrPolicy::kExtend);
  for (std::uint64_t n = 1; n <= 10; ++n) EXPECT_NEAR(lr_at(next.phases, n), 1e-4 * static_cast<double>(n), 1e-18);
  EXPECT_EQ(lr_at(next.phases, 11), 1e-3);
  EXPECT_EQ(lr_at(next.phases, 111), 1e-3);
  EXPECT_LT(lr_at(next.phases, 112), 1e-3);
}

TEST(LrPolicy, ExtendFinishesAWarmUpThatGoesDown) {
  LrSettings lower = cosine(200);
  lower.peak = 1e-4;
  // 61 to 70: 4.3e-4 to 1e-4
  const LrSchedule down = applied(schedule_from(cosine(100)), 60, lower, LrPolicy::kRewarm);
  lower.total_steps = 400;
  const LrSchedule next = applied(down, 63, lower, LrPolicy::kExtend);
  for (std::uint64_t n = 61; n <= 70; ++n) EXPECT_EQ(lr_at(next.phases, n), lr_at(down.phases, n)) << "step " << n;
  for (std::uint64_t n = 70; n <= 211; ++n) EXPECT_EQ(lr_at(next.phases, n), 1e-4) << "step " << n;
  for (std::uint64_t n = 212; n <= 400; ++n) EXPECT_LE(lr_at(next.phases, n), 1e-4) << "step " << n;
  EXPECT_EQ(curve_end(next.phases), 400u);
}

TEST(LrPolicy, ExtendHoldsADecayThatEndsAtThePeak) {
  LrSettings flat{1e-3, 10, 100, std::nullopt, "linear", 1.0};
  const LrSchedule old = schedule_from(flat);
  flat.total_steps = 200;
  flat.decay_ratio = 0.6;
  flat.min_lr_factor = 0;
  const LrSchedule next = applied(old, 60, flat, LrPolicy::kExtend);
  EXPECT_EQ(lr_at(next.phases, 81), 1e-3);
  EXPECT_LT(lr_at(next.phases, 82), 1e-3);
}

TEST(LrPolicy, ExtendNeverRisesToAFloorAboveWhatItHolds) {
  // Step 95 of a cosine over 100 is near 0; the new floor is a tenth of the peak.
  const LrSchedule old = schedule_from(cosine(100));
  LrSettings next = cosine(200);
  next.min_lr_factor = 0.1;
  const LrSchedule extended = applied(old, 95, next, LrPolicy::kExtend);
  const double held = lr_at(extended.phases, 95);
  ASSERT_GT(held, 0);
  ASSERT_LT(held, 0.1 * 1e-3);
  for (std::uint64_t n = 96; n <= 300; ++n) ASSERT_EQ(lr_at(extended.phases, n), held) << n;
}

TEST(LrPolicy, ExtendWithoutDecayIsAConstant) {
  LrSettings flat{1e-3, 10, 100, 0.0, "linear", 0};
  LrSchedule old = schedule_from(flat);
  flat.total_steps = 200;
  const LrSchedule next = applied(old, 60, flat, LrPolicy::kExtend);
  for (const std::uint64_t n : {61, 199, 200, 1000}) EXPECT_EQ(lr_at(next.phases, n), 1e-3);
}

TEST(LrPolicy, RewarmTakesANewPeakWarmUpKindAndMinimum) {
  const LrSchedule old = schedule_from(cosine(100));
  const LrSettings next{2e-3, 20, 200, 0.5, "linear", 0.1};
  const LrSchedule from_here = applied(old, 60, next, LrPolicy::kRewarm);
  EXPECT_EQ(lr_at(from_here.phases, 80), 2e-3);
  EXPECT_EQ(lr_at(from_here.phases, 131), 2e-3);
  EXPECT_NEAR(lr_at(from_here.phases, 201), 2e-4, 1e-18);
  const Result<PolicyResult> from_zero = apply_policy(old, 60, next, LrPolicy::kRewarm, true);
  ASSERT_TRUE(from_zero.ok());
  EXPECT_NEAR(lr_at(from_zero->schedule.phases, 61), 1e-4, 1e-18);
}

TEST(LrPolicy, RefusesWhatAPolicyWouldIgnoreAndEndsInThePast) {
  const LrSchedule old = schedule_from(cosine(100));
  LrSettings peak = cosine(200);
  peak.peak = 2e-3;
  for (const LrPolicy policy : {LrPolicy::kKeep, LrPolicy::kRescale, LrPolicy::kExtend}) {
    const Result<PolicyResult> refused = apply_policy(old, 60, peak, policy);
    ASSERT_FALSE(refused.ok()) << policy_name(policy);
    EXPECT_EQ(refused.status().code, Code::kInvalid);
    EXPECT_EQ(refused.status().causes, std::vector<std::string>{"optimizer.lr: 0.001 -> 0.002"});
  }
  for (const LrPolicy policy : {LrPolicy::kRescale, LrPolicy::kExtend, LrPolicy::kRewarm})
    EXPECT_EQ(apply_policy(old, 60, cosine(60), policy).status().code, Code::kInvalid) << policy_name(policy);
  EXPECT_EQ(parse_policy("rescal").status().hint, "did you mean `rescale`?");
}

TEST(LrPolicy, AScheduleWithoutPhasesIsDamage) {
  for (const LrPolicy policy : kLrPolicies) {
    const Result<PolicyResult> result = apply_policy({{}, cosine(100)}, 60, cosine(200), policy, false);
    EXPECT_EQ(result.status().code, Code::kCorrupt) << policy_name(policy);
    EXPECT_EQ(result.status().message, "the LR schedule has no phase") << policy_name(policy);
  }
}

TEST(LrPolicy, KeepWarnsOfTheStepsToComeAndNotOfThoseThatAreOver) {
  const Result<PolicyResult> kept = apply_policy(schedule_from(cosine(100)), 120, cosine(200), LrPolicy::kKeep, false);
  ASSERT_TRUE(kept.ok());
  ASSERT_EQ(kept->warnings.size(), 1u);
  EXPECT_EQ(kept->warnings[0].substr(0, 25), "steps 121 to 200 train at") << kept->warnings[0];
}

TEST(LrPolicy, WarnsWhereNothingIsLearned) {
  const LrSchedule old = schedule_from(cosine(100));
  EXPECT_EQ(apply_policy(old, 100, cosine(400), LrPolicy::kKeep)->warnings.size(), 1u);
  EXPECT_EQ(apply_policy(old, 100, cosine(400), LrPolicy::kRescale)->warnings.size(), 2u);
  EXPECT_EQ(apply_policy(old, 100, cosine(400), LrPolicy::kExtend)->warnings.size(), 1u);
  EXPECT_TRUE(apply_policy(old, 100, cosine(400), LrPolicy::kRewarm)->warnings.empty());
  LrSettings floor = cosine(100);
  floor.min_lr_factor = 0.1;
  const LrSchedule held = schedule_from(floor);
  floor.total_steps = 200;
  EXPECT_TRUE(apply_policy(held, 60, floor, LrPolicy::kKeep)->warnings.empty());
}

}  // namespace
}  // namespace titan::ckpt::lr_policy_test
