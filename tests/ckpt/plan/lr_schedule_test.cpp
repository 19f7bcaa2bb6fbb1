#include "ckpt/plan/lr_schedule.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <numbers>

namespace titan::ckpt::lr_schedule_test {
namespace {

LrSettings settings(std::uint64_t total, std::uint64_t warmup, std::optional<double> ratio, const char* type,
                    double floor, double peak = 1) {
  LrSettings s;
  s.peak = peak;
  s.warmup_steps = warmup;
  s.total_steps = total;
  s.decay_ratio = ratio;
  s.decay_type = type;
  s.min_lr_factor = floor;
  return s;
}

/// Factor at torchtitan's 0-based index.
double factor(const LrSchedule& schedule, std::uint64_t s) { return lr_at(schedule.phases, s + 1); }

TEST(LrSchedule, MatchesTorchtitansVectors) {
  struct Case {
    LrSettings settings;
    std::vector<double> values;
  };
  const Case cases[] = {
      {settings(10, 2, {}, "linear", 0), {0.5, 1, 1, 0.875, 0.75, 0.625, 0.5, 0.375, 0.25, 0.125}},
      {settings(10, 2, {}, "cosine", 0.1),
       {0.5, 1, 1, 0.96574579, 0.868198052, 0.722207545, 0.55, 0.377792455, 0.231801948, 0.13425421}},
      {settings(10, 2, 0.5, "sqrt", 0), {0.5, 1, 1, 1, 1, 1, 0.552786405, 0.367544468, 0.225403331, 0.105572809}},
      {settings(10, 0, 0.2, "linear", 0.1), {1, 1, 1, 1, 1, 1, 1, 1, 1, 0.55}},
  };
  for (const Case& c : cases) {
    LrSchedule schedule = schedule_from(c.settings);
    for (std::size_t s = 0; s < c.values.size(); ++s)
      EXPECT_NEAR(factor(schedule, s), c.values[s], 5e-10) << c.settings.decay_type << " at s " << s;
    EXPECT_EQ(schedule.accepted, c.settings);
  }
  LrSchedule late = schedule_from(settings(1000, 200, 0.1, "linear", 0.1));
  EXPECT_EQ(factor(late, 900), 1);
  EXPECT_NEAR(factor(late, 901), 0.991, 1e-12);
  EXPECT_NEAR(factor(late, 999), 0.109, 1e-12);
}

TEST(LrSchedule, RoundingNeverStepsOverAnEndOfTheCurve) {
  // 2e-4 and 7e-5: end + (start - end) * 1 is not start again.
  std::size_t rounding = 0;
  for (int high = 1; high <= 99; ++high) {
    for (int low = 1; low < high; ++low) {
      const double peak = high * 1e-5, floor = low * 1e-5;
      rounding += floor + (peak - floor) > peak;
      for (const char* type : {"linear", "sqrt", "cosine"}) {
        const LrSchedule schedule = schedule_from(settings(20, 5, {}, type, floor / peak, peak));
        for (std::uint64_t n = 1; n <= 25; ++n) {
          ASSERT_LE(lr_at(schedule.phases, n), peak) << high << " " << low << " " << type << " n " << n;
          if (n > 5) {
            ASSERT_GE(lr_at(schedule.phases, n), schedule.phases.back().end)
                << high << " " << low << " " << type << " n " << n;
          }
        }
      }
    }
  }
  EXPECT_GT(rounding, 10u) << "some of these pairs do round over";
}

TEST(LrSchedule, StaysAtTheFloorPastTheEnd) {
  EXPECT_DOUBLE_EQ(factor(schedule_from(settings(1000, 200, 0.1, "linear", 0.1)), 1200), 0.1);
  const std::pair<const char*, double> last[] = {{"linear", 0.001111}, {"sqrt", 0.000556}, {"cosine", 0.000003}};
  for (const auto& [type, value] : last) {
    LrSchedule schedule = schedule_from(settings(1000, 100, {}, type, 0));
    EXPECT_NEAR(factor(schedule, 999), value, 5e-7) << type;
    for (std::uint64_t s : {1000, 1200, 1900, 1'000'000'000})
      EXPECT_EQ(factor(schedule, s), 0) << type << " at s " << s;
  }
  // Warm-up up to the end: nothing left to decay over.
  LrSchedule warm = schedule_from(settings(10, 50, {}, "cosine", 0.25));
  EXPECT_EQ(factor(warm, 9), 1);
  EXPECT_EQ(factor(warm, 10), 0.25);
}

TEST(LrSchedule, RoundsTheDecayHalfToEven) {
  const std::tuple<std::uint64_t, double, double> cases[] = {
      {5, 0.5, 2}, {15, 0.1, 2}, {25, 0.1, 2}, {7, 0.5, 4}, {3, 0.5, 2}};
  for (const auto& [total, ratio, decay] : cases) {
    LrSchedule schedule = schedule_from(settings(total, 0, ratio, "linear", 0));
    EXPECT_EQ(schedule.phases.back().length, decay) << total << " x " << ratio;
    EXPECT_EQ(schedule.phases.back().first, total + 1 - static_cast<std::uint64_t>(decay));
  }
}

/// torchtitan v0.2.2 components/lr_scheduler.py, evaluated directly on the 0-based index, clamped.
double torchtitan_factor(std::int64_t s, std::int64_t total, std::int64_t warmup, std::optional<double> ratio,
                         const std::string& type, double floor) {
  warmup = std::min(warmup, total);
  std::int64_t decay = total - warmup;
  if (ratio) {
    double exact = static_cast<double>(total) * *ratio;
    double rounded = std::floor(exact + 0.5);
    if (exact + 0.5 == rounded && std::fmod(rounded, 2) != 0) rounded -= 1;
    decay = std::min(decay, static_cast<std::int64_t>(rounded));
  }
  const std::int64_t stable = total + 1 - warmup - decay;
  if (s < warmup) return static_cast<double>(s + 1) / static_cast<double>(warmup);
  // Without a decay torchtitan holds one step longer and then asserts; ours is at the floor beyond the last step.
  if (decay == 0) return s < total ? 1 : floor;
  if (s < warmup + stable) return 1;
  double p = std::min(1.0, static_cast<double>(s + 1 - warmup - stable) / static_cast<double>(decay));
  double g = type == "linear" ? 1 - p : type == "sqrt" ? 1 - std::sqrt(p) : 0.5 * (1 + std::cos(std::numbers::pi * p));
  return floor + (1 - floor) * g;
}

TEST(LrSchedule, EqualsTorchtitansFormulaOverManySettings) {
  const double peak = 3e-4;
  for (std::uint64_t total : {1, 2, 5, 10, 37, 100}) {
    for (std::uint64_t warmup : {0, 1, 3, 10, 200}) {
      for (std::optional<double> ratio : {std::optional<double>{}, {0.0}, {0.1}, {0.25}, {0.5}, {1.0}}) {
        for (const char* type : {"linear", "sqrt", "cosine"}) {
          for (double floor : {0.0, 0.1, 1.0}) {
            LrSchedule schedule = schedule_from(settings(total, warmup, ratio, type, floor, peak));
            for (std::uint64_t n = 1; n <= total + 20; ++n) {
              const double lr = lr_at(schedule.phases, n);
              const double expected =
                  peak * torchtitan_factor(static_cast<std::int64_t>(n) - 1, static_cast<std::int64_t>(total),
                                           static_cast<std::int64_t>(warmup), ratio, type, floor);
              ASSERT_NEAR(lr, expected, 1e-15) << "T " << total << " W " << warmup << " ratio " << ratio.value_or(-1)
                                               << ' ' << type << " m " << floor << " n " << n;
              ASSERT_GE(lr, 0);
              ASSERT_LE(lr, peak);
            }
            ASSERT_EQ(curve_end(schedule.phases), total);
          }
        }
      }
    }
  }
}

TEST(LrSchedule, ACurveFromABaseIsTheShiftedCurve) {
  for (std::uint64_t warmup : {0, 4}) {
    LrSettings s = settings(40, warmup, 0.5, "cosine", 0.1, 1e-3);
    LrSchedule at_zero = schedule_from(s), later = schedule_from(s, 60);
    for (std::uint64_t n = 1; n <= 50; ++n)
      EXPECT_DOUBLE_EQ(lr_at(later.phases, 60 + n), lr_at(at_zero.phases, n)) << n;
    EXPECT_EQ(curve_end(later.phases), 100u);
  }
}

TEST(LrSchedule, WarmsUpFromTheGivenRateAsTheRewarmVectorSays) {
  // peak 1e-3, warm-up 10, cosine, checkpoint at 60, end 100 -> 200: the new curve starts at the old rate.
  LrSchedule old = schedule_from(settings(100, 10, {}, "cosine", 0, 1e-3));
  const double held = lr_at(old.phases, 60);
  EXPECT_NEAR(held, 4.30413450e-4, 1e-12);
  EXPECT_NEAR(lr_at(old.phases, 61), 4.13176e-4, 5e-10);
  LrSchedule fresh = schedule_from(settings(140, 10, {}, "cosine", 0, 1e-3), 60, held);
  const std::pair<std::uint64_t, double> values[] = {{61, 4.87372e-4}, {101, 8.74255e-4}, {150, 3.34046e-4}};
  for (const auto& [n, lr] : values) EXPECT_NEAR(lr_at(fresh.phases, n), lr, 5e-10) << n;
  EXPECT_NEAR(lr_at(fresh.phases, 200), 1.45993e-7, 5e-13);
  EXPECT_EQ(lr_at(fresh.phases, 250), 0);
}

TEST(LrSchedule, TheLastPhaseThatHasBegunApplies) {
  std::vector<LrPhase> phases{{1, PhaseKind::kLinear, 0, 4, 0, 4},
                              {3, PhaseKind::kConstant, 9, 9, 3, 0},
                              {6, PhaseKind::kLinear, 8, 0, 5.5, 4}};
  const double expected[] = {1, 2, 9, 9, 9, 7, 5, 3, 1, 0, 0};
  for (std::uint64_t n = 1; n <= 11; ++n) EXPECT_DOUBLE_EQ(lr_at(phases, n), expected[n - 1]) << n;
  EXPECT_EQ(lr_at({}, 5), 0);
}

TEST(LrSchedule, ZeroFromFindsWhereTheRateStays0) {
  const auto slow = [](const std::vector<LrPhase>& phases, std::uint64_t first, std::uint64_t last) {
    std::uint64_t from = last + 1;
    while (from > first && lr_at(phases, from - 1) == 0) --from;
    return from;
  };
  LrSettings s{};
  s.peak = 1;
  s.warmup_steps = 5;
  s.total_steps = 20;
  s.decay_type = "linear";
  std::vector<std::vector<LrPhase>> curves = {schedule_from(s).phases};
  EXPECT_EQ(zero_from(curves[0], 1, 40), 21u);
  EXPECT_EQ(zero_from(curves[0], 1, 20), 21u) << "its own last step is above 0";
  EXPECT_EQ(zero_from(curves[0], 30, 40), 30u);
  EXPECT_EQ(zero_from(curves[0], 41, 40), 41u);
  s.decay_type = "cosine";
  curves.push_back(schedule_from(s).phases);
  curves.push_back(curves[1]);
  curves.back().push_back({24, PhaseKind::kConstant, 0, 0, 24, 0});
  curves.push_back(curves.back());
  curves.back().push_back({28, PhaseKind::kLinear, 0, 1, 29, 4});
  curves.push_back(curves.back());
  curves.back().push_back({30, PhaseKind::kConstant, 0, 0, 30, 0});
  s.peak = 0;
  curves.push_back(schedule_from(s).phases);
  for (std::size_t i = 0; i < curves.size(); ++i)
    for (std::uint64_t first = 1; first <= 40; ++first)
      for (std::uint64_t last = first; last <= 40; ++last)
        EXPECT_EQ(zero_from(curves[i], first, last), slow(curves[i], first, last))
            << i << ": " << first << " to " << last;
}

TEST(LrSchedule, PhaseKindsHaveTheirPublishedNames) {
  EXPECT_STREQ(phase_kind_name(PhaseKind::kLinear), "linear");
  EXPECT_STREQ(phase_kind_name(PhaseKind::kSqrt), "sqrt");
  EXPECT_STREQ(phase_kind_name(PhaseKind::kCosine), "cosine");
  EXPECT_STREQ(phase_kind_name(PhaseKind::kConstant), "constant");
}

}  // namespace
}  // namespace titan::ckpt::lr_schedule_test
