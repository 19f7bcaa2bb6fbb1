#include "cli/kit/curve.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <sstream>

#include "ckpt/plan/lr_policy.h"
#include "ckpt/plan/lr_schedule.h"

namespace titan::cli::curve_test {
namespace {

using ::testing::HasSubstr;

const ckpt::LrSettings kCosine{1e-3, 10, 100, std::nullopt, "cosine", 0.0};

std::vector<std::string> lines(const std::string& text) {
  std::vector<std::string> all;
  std::istringstream in(text);
  for (std::string line; std::getline(in, line);) all.push_back(line);
  return all;
}

TEST(CurveText, DrawsWarmUpAndDecayOverTheWholeWidth) {
  Curve curve;
  curve.old_phases = ckpt::schedule_from(kCosine).phases;
  curve.last = 100;
  curve.resume = 61;
  curve.width = 52;
  curve.height = 7;
  EXPECT_EQ("\n" + curve_text(curve, {}), R"(
    0.001 |    ********             |
          |   *       ******        |
          |  *             *****    |
   0.0005 |  *                  ****|
          | *                       *****
          |*                        |   ******
        0 |                         |        *******
          +-----------------------------------------
           1                        ^ 61         100
           |  next step
)");
}

TEST(CurveText, ShowsTheOldCurveBesideTheNewOneOnlyWhereTheyDiffer) {
  const ckpt::LrSchedule old = ckpt::schedule_from(kCosine);
  ckpt::LrSettings next = kCosine;
  next.total_steps = 200;
  Curve curve;
  curve.old_phases = old.phases;
  curve.new_phases = ckpt::apply_policy(old, 60, next, ckpt::LrPolicy::kRewarm)->schedule.phases;
  curve.last = 200;
  curve.resume = 61;
  const std::string text = curve_text(curve, {});
  EXPECT_THAT(text, HasSubstr(".  before    *  after    |  next step"));
  const std::vector<std::string> rows = lines(text);
  const std::size_t mark = rows[0].find('|', 12);
  for (std::size_t r = 0; r < curve.height; ++r)
    EXPECT_EQ(rows[r].substr(0, mark).find('.', 11), std::string::npos) << "the past is one curve: " << rows[r];
  EXPECT_NE(rows[curve.height - 1].find('.', mark), std::string::npos) << "the old end lies on the floor";
}

TEST(CurveText, NeverExceedsTheWidthAndSurvivesOddInput) {
  const std::vector<ckpt::LrPhase> phases = ckpt::schedule_from(kCosine).phases;
  const std::vector<ckpt::LrPhase> flat{{1, ckpt::PhaseKind::kConstant, 0, 0, 1, 0}};
  for (const std::size_t width : {0, 40, 77, 200}) {
    for (const std::uint64_t last : {1ull, 2ull, 7ull, 100ull, 1'000'000'000'000ull}) {
      for (const auto& old : {phases, flat, std::vector<ckpt::LrPhase>{}}) {
        for (const std::uint64_t resume : {1ull, 2ull, 99ull, 1'000'000'000'000ull, 2'000'000'000'000ull}) {
          Curve curve;
          curve.old_phases = old;
          curve.new_phases = flat;
          curve.last = last;
          curve.resume = resume;
          curve.width = width;
          for (const std::string& line : lines(curve_text(curve, {})))
            EXPECT_LE(line.size(), std::max<std::size_t>(width, 50)) << line;
        }
      }
    }
  }
}

TEST(CurveText, AJumpBetweenTwoStepsIsALineAndNotAGap) {
  Curve curve;
  curve.old_phases = {{1, ckpt::PhaseKind::kConstant, 1e-3, 1e-3, 1, 0},
                      {501, ckpt::PhaseKind::kConstant, 0, 0, 501, 0}};
  curve.last = 1000;
  const std::vector<std::string> rows = lines(curve_text(curve, {}));
  for (std::size_t r = 0; r < curve.height; ++r) EXPECT_NE(rows[r].find('*'), std::string::npos) << r;
}

TEST(CurveText, ColourIsOnlyAnAddition) {
  Curve curve;
  curve.old_phases = ckpt::schedule_from(kCosine).phases;
  curve.last = 100;
  std::string colored = curve_text(curve, {true});
  EXPECT_THAT(colored, HasSubstr("\x1b["));
  for (std::size_t at; (at = colored.find("\x1b[")) != std::string::npos;)
    colored.erase(at, colored.find('m', at) - at + 1);
  EXPECT_EQ(colored, curve_text(curve, {}));
}

}  // namespace
}  // namespace titan::cli::curve_test
