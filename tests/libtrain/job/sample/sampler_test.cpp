#include "libtrain/job/sample/sampler.h"

#include <gmock/gmock.h>

#include <cmath>
#include <limits>
#include <map>

namespace titan::train::sampler_test {
namespace {

using testing::ElementsAre;

std::vector<std::int64_t> tokens(const std::vector<Candidate>& list) {
  std::vector<std::int64_t> ids;
  for (const Candidate& candidate : list) ids.push_back(candidate.token);
  return ids;
}

// Probabilities 0.1, 0.4, 0.2, 0.25, 0.05 at temperature 1.
const std::vector<float> kLogits = {std::log(0.1f), std::log(0.4f), std::log(0.2f), std::log(0.25f), std::log(0.05f)};

TEST(Sampler, GreedyTakesTheGreatestAndOfEqualOnesTheLowestId) {
  EXPECT_EQ(greatest(std::vector<float>{1, 3, 2}), 1);
  EXPECT_EQ(greatest(std::vector<float>{1, 3, 3, 2}), 1);
  EXPECT_EQ(next_token(kLogits, {}, 5), 1);
}

TEST(Sampler, WithoutCutsEveryTokenIsACandidateWithItsProbability) {
  const std::vector<Candidate> all = candidates(kLogits, {.temperature = 1});
  EXPECT_THAT(tokens(all), ElementsAre(0, 1, 2, 3, 4));
  EXPECT_NEAR(all[3].weight, 0.25 / 0.4, 1e-6);
}

TEST(Sampler, TemperatureFlattensOrSharpens) {
  EXPECT_NEAR(candidates(kLogits, {.temperature = 2})[0].weight, std::sqrt(0.1 / 0.4), 1e-6);
  EXPECT_NEAR(candidates(kLogits, {.temperature = 0.5})[0].weight, std::pow(0.1 / 0.4, 2), 1e-6);
}

TEST(Sampler, TopKKeepsTheMostLikely) {
  EXPECT_THAT(tokens(candidates(kLogits, {.temperature = 1, .top_k = 3})), ElementsAre(1, 3, 2));
  EXPECT_THAT(tokens(candidates(kLogits, {.temperature = 1, .top_k = 1})), ElementsAre(1));
  EXPECT_EQ(candidates(kLogits, {.temperature = 1, .top_k = 99}).size(), 5u);
}

TEST(Sampler, TopKKeepsTheLowerIdsOfEqualTokens) {
  EXPECT_THAT(tokens(candidates(std::vector<float>{2, 5, 2, 2}, {.temperature = 1, .top_k = 3})), ElementsAre(1, 0, 2));
}

TEST(Sampler, TopPKeepsUpToTheTokenThatReachesIt) {
  EXPECT_THAT(tokens(candidates(kLogits, {.temperature = 1, .top_p = 0.64})), ElementsAre(1, 3));
  EXPECT_THAT(tokens(candidates(kLogits, {.temperature = 1, .top_p = 0.66})), ElementsAre(1, 3, 2));
  EXPECT_THAT(tokens(candidates(kLogits, {.temperature = 1, .top_p = 1e-9})), ElementsAre(1));
  EXPECT_EQ(candidates(kLogits, {.temperature = 1, .top_p = 0.9999}).size(), 5u);
}

TEST(Sampler, TopPCountsAfterTopK) {
  // Of 0.4, 0.25 and 0.2 the first two have 0.76.
  EXPECT_THAT(tokens(candidates(kLogits, {.temperature = 1, .top_k = 3, .top_p = 0.75})), ElementsAre(1, 3));
}

TEST(Sampler, TemperatureComesBeforeTopP) {
  EXPECT_EQ(candidates(kLogits, {.temperature = 100, .top_p = 0.6}).size(), 3u);
}

TEST(Sampler, AVeryLowTemperatureIsGreedyAndCutsByLogits) {
  EXPECT_EQ(next_token(kLogits, {.temperature = 1e-30}, 0), 1);
  EXPECT_THAT(tokens(candidates(kLogits, {.temperature = 1e-30, .top_k = 3})), ElementsAre(1, 3, 2));
}

TEST(Sampler, ATokenThatCannotComeIsNeverDrawn) {
  const std::vector<float> logits = {0, -std::numeric_limits<float>::infinity(), 0};
  for (std::uint64_t i = 0; i < 200; ++i) EXPECT_NE(next_token(logits, {.temperature = 1}, i), 1);
}

TEST(Sampler, DrawsByProbability) {
  std::map<std::int64_t, int> seen;
  for (std::uint64_t i = 0; i < 20000; ++i) ++seen[next_token(kLogits, {.temperature = 1, .seed = 9}, i)];
  for (std::int64_t id = 0; id < 5; ++id)
    EXPECT_NEAR(seen[id] / 20000.0, std::exp(kLogits[static_cast<std::size_t>(id)]), 0.015) << id;
}

TEST(Sampler, IsAFunctionOfSeedAndIndex) {
  const auto draw = [](std::uint64_t seed) {
    std::vector<std::int64_t> ids;
    for (std::uint64_t i = 0; i < 40; ++i) ids.push_back(next_token(kLogits, {.temperature = 1, .seed = seed}, i));
    return ids;
  };
  EXPECT_EQ(draw(1), draw(1));
  EXPECT_NE(draw(1), draw(2));
}

}  // namespace
}  // namespace titan::train::sampler_test
