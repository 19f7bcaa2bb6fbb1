#include "ckpt/plan/merge_weights.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <numeric>

#include "ckpt/plan/lr_schedule.h"

namespace titan::ckpt::merge_weights_test {
namespace {

using ::testing::DoubleNear;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Pointwise;

const std::vector<std::uint64_t> kEven{100, 200, 300, 400}, kUneven{100, 110, 400};

double sum(const std::vector<double>& weights) { return std::accumulate(weights.begin(), weights.end(), 0.0); }

TEST(MergeWeights, TheMeanOfEvenStepsIsALinearDecay) {
  const std::vector<double> mean = mean_weights(4);
  EXPECT_THAT(decay_factors(mean), Pointwise(DoubleNear(1e-15), {0.75, 0.5, 0.25}));
  EXPECT_THAT(decay_weights(PhaseKind::kLinear, kEven), Pointwise(DoubleNear(1e-15), mean));
  const NearestDecay nearest = nearest_decay(kEven, decay_factors(mean));
  EXPECT_EQ(nearest.kind, PhaseKind::kLinear);
  EXPECT_LT(nearest.gap, 1e-15);
}

TEST(MergeWeights, OfOneMinusSqrtTheFactorsAreTheDecay) {
  const std::vector<double> weights = decay_weights(PhaseKind::kSqrt, kEven);
  EXPECT_NEAR(sum(weights), 1, 1e-15);
  EXPECT_THAT(decay_factors(weights),
              Pointwise(DoubleNear(1e-15), {1 - std::sqrt(0.25), 1 - std::sqrt(0.5), 1 - std::sqrt(0.75)}));
  EXPECT_EQ(nearest_decay(kEven, decay_factors(weights)).kind, PhaseKind::kSqrt);
}

TEST(MergeWeights, OfCosineTheFactorsAreTheDecay) {
  const std::vector<double> weights = decay_weights(PhaseKind::kCosine, kEven);
  EXPECT_NEAR(sum(weights), 1, 1e-15);
  EXPECT_NEAR(decay_factors(weights)[1], 0.5, 1e-15);
  EXPECT_EQ(nearest_decay(kEven, decay_factors(weights)).kind, PhaseKind::kCosine);
}

TEST(MergeWeights, UnevenStepsDecayByStepsNotByCount) {
  const std::vector<double> weights = decay_weights(PhaseKind::kLinear, kUneven);
  EXPECT_NEAR(sum(weights), 1, 1e-15);
  // The decay takes 450 steps from 100 on: 10 of them are a 45th.
  EXPECT_THAT(decay_factors(weights), Pointwise(DoubleNear(1e-15), {1 - 10 / 450.0, 1 - 300 / 450.0}));
}

TEST(MergeWeights, AnExponentialAverageIsWhatItsRecursionGives) {
  const double beta = 0.75, values[] = {3, -1, 4, 1.5};
  double average = values[0];
  for (int i = 1; i < 4; ++i) average = beta * average + (1 - beta) * values[i];
  const std::vector<double> weights = ema_weights(beta, 4);
  double merged = 0;
  for (int i = 0; i < 4; ++i) merged += weights[i] * values[i];
  EXPECT_NEAR(merged, average, 1e-15);
  EXPECT_NEAR(sum(weights), 1, 1e-15);
}

TEST(MergeWeights, GivenOnesAreDividedByTheirSum) {
  EXPECT_THAT(*normalised({1, 2, 1}), ElementsAre(0.25, 0.5, 0.25));
  EXPECT_THAT(*normalised({-1, 2}), ElementsAre(-1, 2)) << "a model may be moved away from";
  EXPECT_EQ(normalised({1, -1}).status().code, Code::kInvalid);
  EXPECT_EQ(normalised({1e308, 1e308}).status().code, Code::kInvalid);
}

TEST(MergeWeights, TheCurveIsThatOfTheRunTimesTheFactors) {
  // Warm-up to step 150, then constant, then a decay from step 350 on.
  const std::vector<LrPhase> phases{{1, PhaseKind::kLinear, 0, 1e-3, 0, 150},
                                    {151, PhaseKind::kConstant, 1e-3, 1e-3, 151, 0},
                                    {351, PhaseKind::kSqrt, 1e-3, 1e-4, 350, 100}};
  const std::vector<double> factors{0.75, 0.5, 0.25};
  const std::vector<LrPhase> after = decayed(phases, kEven, factors);
  for (std::uint64_t n = 1; n <= 400; ++n) {
    const double factor = n <= 100 ? 1 : factors[(n - 101) / 100];
    EXPECT_DOUBLE_EQ(lr_at(after, n), factor * lr_at(phases, n)) << n;
  }
}

}  // namespace
}  // namespace titan::ckpt::merge_weights_test
