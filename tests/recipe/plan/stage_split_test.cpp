#include "recipe/plan/stage_split.h"

#include <gmock/gmock.h>

#include <functional>
#include <numeric>
#include <random>
#include <tuple>

#include "ckpt/plan/partition.h"

namespace titan::recipe::stage_split_test {
namespace {

using testing::ElementsAre;
using Layers = std::vector<std::uint32_t>;

std::vector<std::uint64_t> costs_of_ranks(const SplitProblem& problem, const Layers& layers) {
  const std::vector<std::uint64_t> stages = stage_costs(problem.costs, layers);
  std::vector<std::uint64_t> ranks(problem.ranks, 0);
  for (std::uint32_t stage = 0; stage < stages.size(); ++stage)
    ranks[rank_of_stage(problem.placement, problem.ranks, stage)] += stages[stage];
  return ranks;
}

/// Products of weight matrices per token, or all products at a length of text.
TEST(SplitLayers, GoldenVectorsOfKnownModels) {
  struct Case {
    const char* model;
    std::uint32_t layers;
    std::uint64_t layer, head;
    std::uint32_t pp;
    Layers cuts;
    std::uint64_t largest;
  };
  const Case cases[] = {
      {"tiny, nanotron issue 108", 2, 4'096, 804'112, 2, {3}, 804'112},
      {"256 wide", 8, 1'048'576, 32'833'536, 2, {9}, 32'833'536},
      {"256 wide", 8, 1'048'576, 32'833'536, 4, {3, 6, 9}, 32'833'536},
      {"Qwen2.5-0.5B", 24, 16'285'696, 136'134'656, 2, {17}, 266'420'224},
      {"Qwen2.5-0.5B", 24, 16'285'696, 136'134'656, 4, {9, 17, 25}, 136'134'656},
      {"Qwen2.5-0.5B", 24, 16'285'696, 136'134'656, 8, {4, 7, 10, 13, 17, 21, 25}, 136'134'656},
      {"SmolLM2-135M", 30, 3'981'312, 28'311'552, 4, {10, 19, 29}, 39'813'120},
      {"SmolLM2-135M", 30, 3'981'312, 28'311'552, 8, {5, 9, 13, 17, 21, 26, 31}, 28'311'552},
      {"Llama-3.2-1B", 16, 67'108'864, 262'668'288, 4, {6, 11, 16}, 335'544'320},
      {"Llama-3.2-1B", 16, 67'108'864, 262'668'288, 8, {3, 5, 7, 9, 11, 14, 17}, 262'668'288},
      {"Llama-3-8B", 32, 243'269'632, 525'336'576, 4, {9, 18, 27}, 2'189'426'688},
      {"Llama-3-8B", 32, 243'269'632, 525'336'576, 8, {5, 9, 13, 17, 21, 26, 31}, 1'216'348'160},
      {"16 wide", 2, 4'096, 4'096, 2, {2}, 8'192},
      {"16 wide", 2, 4'096, 4'096, 4, {1, 2, 3}, 4'096},
      {"Llama-3.2-1B, FLOPs at T=8192", 16, 155'189'248, 525'336'576, 4, {6, 11, 16}, 775'946'240},
      {"Llama-3.2-1B, FLOPs at T=8192", 16, 155'189'248, 525'336'576, 8, {3, 5, 7, 9, 11, 14, 17}, 525'336'576},
      {"Llama-3-8B, FLOPs at T=8192", 32, 503'316'480, 1'050'673'152, 4, {9, 18, 27}, 4'529'848'320},
      {"Llama-3-8B, FLOPs at T=8192", 32, 503'316'480, 1'050'673'152, 8, {5, 9, 13, 17, 21, 26, 31}, 2'516'582'400},
      {"Llama-2-7B, FLOPs at T=4096", 32, 438'304'768, 262'144'000, 8, {5, 9, 13, 17, 21, 25, 29}, 2'015'363'072},
      {"Qwen2.5-0.5B, FLOPs at T=4096", 24, 37'158'912, 272'269'312, 4, {9, 17, 25}, 297'271'296},
  };
  for (const Case& c : cases) {
    SCOPED_TRACE(testing::Message() << c.model << ", pp " << c.pp);
    const SplitProblem problem{.ranks = c.pp, .layers = c.layers, .costs = {0, c.layer, c.head}};
    const auto layers = split_layers(problem);
    ASSERT_TRUE(layers.has_value());
    EXPECT_EQ(cuts_of_layers(*layers), c.cuts);
    const auto costs = stage_costs(problem.costs, *layers);
    EXPECT_EQ(*std::ranges::max_element(costs), c.largest);
  }
  EXPECT_FALSE(split_layers({.ranks = 4, .layers = 1, .costs = {0, 4'096, 4'096}})) << "3 parts for 4 stages";
}

TEST(SplitLayers, SeveralStagesARankAreBalancedByRank) {
  // A head of four layers: its rank has fewer layers in both of its stages.
  SplitProblem problem{.ranks = 2, .chunks = 2, .layers = 12, .costs = {0, 1, 4}};
  EXPECT_THAT(*split_layers(problem), ElementsAre(4, 4, 4, 0));
  EXPECT_THAT(costs_of_ranks(problem, *split_layers(problem)), ElementsAre(8, 8));
  // In a V the first rank has the head, and the embedding as well.
  problem.placement = Placement::kV;
  EXPECT_THAT(*split_layers(problem), ElementsAre(4, 4, 4, 0));
  EXPECT_THAT(costs_of_ranks(problem, *split_layers(problem)), ElementsAre(8, 8));
  problem.layers = 4;  // each other stage needs a layer of its own
  EXPECT_THAT(*split_layers(problem), ElementsAre(0, 2, 2, 0));
}

TEST(SplitLayers, KeepsToEveryLimit) {
  const SplitProblem problem{.ranks = 4, .layers = 8, .costs = {0, 1, 3}};
  EXPECT_THAT(*split_layers(problem), ElementsAre(2, 3, 3, 0));
  SplitProblem limited = problem;
  limited.min_layers = 1;
  EXPECT_THAT(*split_layers(limited), ElementsAre(2, 2, 3, 1));
  limited = problem;
  limited.max_layers = 2;
  EXPECT_THAT(*split_layers(limited), ElementsAre(2, 2, 2, 2));
  limited = problem;
  limited.most_of_rank = {1, 9, 9, 9};
  EXPECT_THAT(*split_layers(limited), ElementsAre(1, 3, 3, 1));
  limited = problem;
  limited.pins = {{5, 1}};
  EXPECT_THAT(*split_layers(limited), ElementsAre(3, 3, 2, 0));
  limited.max_layers = 2;
  EXPECT_FALSE(split_layers(limited)) << "two stages of two layers end before layer 5";
}

/// The criteria, as the header states them; what a split that is not allowed does not have.
using Score = std::tuple<std::uint64_t, std::uint64_t, std::uint64_t, std::uint64_t, Layers>;

std::optional<Score> score_of(const SplitProblem& problem, const Layers& layers) {
  Layers of_rank(problem.ranks, 0), in_order;
  std::uint32_t first = 0;
  for (std::uint32_t stage = 0; stage < layers.size(); ++stage) {
    const bool bare = stage == 0 || stage + 1 == layers.size();
    if (layers[stage] < problem.min_layers || layers[stage] > problem.max_layers || (layers[stage] == 0 && !bare))
      return std::nullopt;
    for (const StagePin& pin : problem.pins)
      if (pin.stage == stage && (pin.layer < first || pin.layer >= first + layers[stage])) return std::nullopt;
    first += layers[stage];
    of_rank[rank_of_stage(problem.placement, problem.ranks, stage)] += layers[stage];
  }
  for (std::uint32_t rank = 0; rank < problem.ranks; ++rank)
    if (!problem.most_of_rank.empty() && of_rank[rank] > problem.most_of_rank[rank]) return std::nullopt;
  in_order = of_rank;
  for (std::uint32_t rank = 0; rank < problem.ranks; ++rank)
    for (std::uint32_t chunk = 0; chunk < problem.chunks; ++chunk)
      in_order.push_back(layers[stage_of_chunk(problem.placement, problem.ranks, rank, chunk)]);
  const auto ranks = costs_of_ranks(problem, layers), stages = stage_costs(problem.costs, layers);
  const auto squares = [](const std::vector<std::uint64_t>& v) {
    return std::inner_product(v.begin(), v.end(), v.begin(), std::uint64_t{0});
  };
  return Score{*std::ranges::max_element(ranks), squares(ranks), *std::ranges::max_element(stages), squares(stages),
               in_order};
}

std::optional<Layers> brute_force(const SplitProblem& problem) {
  std::optional<Score> best;
  Layers layers(problem.stages(), 0), found;
  const std::function<void(std::size_t, std::uint32_t)> deal = [&](std::size_t stage, std::uint32_t left) {
    if (stage + 1 < layers.size()) {
      for (layers[stage] = 0; layers[stage] <= left; ++layers[stage]) deal(stage + 1, left - layers[stage]);
      return;
    }
    layers[stage] = left;
    const std::optional<Score> score = score_of(problem, layers);
    if (!score || (best && !(*score < *best))) return;
    best = score;
    found = layers;
  };
  deal(0, problem.layers);
  return best ? std::optional(found) : std::nullopt;
}

TEST(SplitLayers, EqualsExhaustiveSearchOnTenThousandRandomProblems) {
  const std::uint32_t seed = 5;
  SCOPED_TRACE(testing::Message() << "seed " << seed);
  std::mt19937 random(seed);
  int feasible = 0, pinned = 0, several = 0;
  for (int round = 0; round < 10'000; ++round) {
    SplitProblem problem;
    problem.ranks = 1 + random() % 4;
    problem.chunks = 1 + random() % (problem.ranks > 2 ? 2 : 3);
    if (problem.chunks == 2 && random() % 2 == 0) problem.placement = Placement::kV;
    const std::uint32_t stages = problem.stages();
    problem.layers = random() % (stages > 5 ? 7 : 9);
    problem.costs = {random() % 4, 1 + random() % 4, random() % 12};
    if (random() % 4 == 0) problem.min_layers = random() % 3;
    if (random() % 4 == 0) problem.max_layers = 1 + random() % 4;
    if (random() % 4 == 0)
      for (std::uint32_t rank = 0; rank < problem.ranks; ++rank) problem.most_of_rank.push_back(random() % 6);
    if (problem.chunks == 1 && problem.layers > 0 && random() % 3 == 0)
      problem.pins.push_back(
          {static_cast<std::uint32_t>(random() % problem.layers), static_cast<std::uint32_t>(random() % stages)});
    const auto found = split_layers(problem), right = brute_force(problem);
    ASSERT_EQ(found, right) << "round " << round << ": " << problem.ranks << " ranks, " << problem.chunks
                            << " stages each, " << problem.layers << " layers";
    if (!found) continue;
    ++feasible;
    pinned += problem.pins.empty() ? 0 : 1;
    several += problem.chunks > 1 ? 1 : 0;
    // Where only costs count, the search over arbitrary parts says the same.
    if (problem.chunks > 1 || problem.min_layers > 0 || problem.max_layers != SplitProblem::kAny ||
        !problem.most_of_rank.empty() || !problem.pins.empty())
      continue;
    std::vector<std::uint64_t> parts(problem.layers + 1, problem.costs.layer);
    parts[0] = problem.costs.embedding;
    parts.push_back(problem.costs.head);
    const auto cuts = ckpt::partition_stages(parts, stages);
    ASSERT_TRUE(cuts.ok());
    EXPECT_EQ(cuts_of_layers(*found), *cuts);
  }
  EXPECT_GT(feasible, 3000);
  EXPECT_GT(pinned, 300);
  EXPECT_GT(several, 1000);
}

TEST(SplitLayers, SquaresBeyond64BitsDoNotOverflow) {
  const std::uint64_t big = std::uint64_t{1} << 59;
  EXPECT_THAT(*split_layers({.ranks = 3, .layers = 6, .costs = {big, big, big}}), ElementsAre(1, 3, 2));
}

}  // namespace
}  // namespace titan::recipe::stage_split_test
