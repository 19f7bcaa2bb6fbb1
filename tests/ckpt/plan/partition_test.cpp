#include "ckpt/plan/partition.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>
#include <random>

namespace titan::ckpt::partition_test {
namespace {

using Costs = std::vector<std::uint64_t>;
using Cuts = std::vector<std::uint32_t>;

Costs llama_costs(std::uint64_t layers, std::uint64_t layer, std::uint64_t head) {
  Costs costs(layers + 1, layer);
  costs[0] = 0;
  costs.push_back(head);
  return costs;
}

std::vector<std::uint64_t> stage_costs(const Costs& costs, const Cuts& cuts) {
  std::vector<std::uint64_t> sums(cuts.size() + 1, 0);
  for (std::size_t group = 0; group < costs.size(); ++group)
    sums[static_cast<std::size_t>(std::upper_bound(cuts.begin(), cuts.end(), group) - cuts.begin())] += costs[group];
  return sums;
}

std::uint64_t largest(const std::vector<std::uint64_t>& values) {
  return *std::max_element(values.begin(), values.end());
}

TEST(Partition, GoldenVectorsOfKnownModels) {
  struct Case {
    const char* model;
    std::uint64_t layers, layer, head;
    std::uint32_t pp;
    Cuts cuts;
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
    SCOPED_TRACE(::testing::Message() << c.model << ", pp " << c.pp);
    Costs costs = llama_costs(c.layers, c.layer, c.head);
    Result<Cuts> cuts = partition_stages(costs, c.pp);
    ASSERT_TRUE(cuts.ok()) << cuts.status().to_string();
    EXPECT_EQ(*cuts, c.cuts);
    EXPECT_EQ(largest(stage_costs(costs, *cuts)), c.largest);
  }
}

TEST(Partition, SolvesTheCaseThatASingleDynamicProgramGetsWrong) {
  Costs costs{7, 3, 2, 6, 1};
  Result<Cuts> cuts = partition_stages(costs, 4);
  ASSERT_TRUE(cuts.ok());
  EXPECT_EQ(*cuts, (Cuts{1, 2, 3}));
}

TEST(Partition, FewerGroupsThanStagesIsInvalidAndNamesTheLargestDegree) {
  Result<Cuts> cuts = partition_stages(llama_costs(1, 4'096, 4'096), 4);
  ASSERT_FALSE(cuts.ok());
  EXPECT_EQ(cuts.status().code, Code::kInvalid);
  EXPECT_NE(cuts.status().hint.find("largest feasible pipeline degree is 3"), std::string::npos);
  EXPECT_EQ(partition_stages({1, 2}, 0).status().code, Code::kInvalid);
}

TEST(Partition, SquaresBeyond64BitsDoNotOverflow) {
  const std::uint64_t big = std::uint64_t{1} << 60;
  Result<Cuts> cuts = partition_stages({big, big, big, big, big, big}, 3);
  ASSERT_TRUE(cuts.ok());
  EXPECT_EQ(*cuts, (Cuts{2, 4}));
  EXPECT_EQ(partition_stages({~std::uint64_t{0}, 1}, 2).status().code, Code::kInvalid);
}

/// Tries every cut vector in lexicographic order.
Cuts brute_force(const Costs& costs, std::uint32_t stages) {
  Cuts cuts(stages - 1), best;
  std::iota(cuts.begin(), cuts.end(), 1);
  std::pair<std::uint64_t, std::uint64_t> best_score{~std::uint64_t{0}, ~std::uint64_t{0}};
  for (;;) {
    std::vector<std::uint64_t> sums = stage_costs(costs, cuts);
    std::pair<std::uint64_t, std::uint64_t> score{
        largest(sums), std::inner_product(sums.begin(), sums.end(), sums.begin(), std::uint64_t{0})};
    if (score < best_score) {
      best_score = score;
      best = cuts;
    }
    std::size_t i = cuts.size();
    while (i > 0 && cuts[i - 1] == costs.size() - (cuts.size() - i) - 1) --i;
    if (i == 0) return best;
    ++cuts[i - 1];
    for (; i < cuts.size(); ++i) cuts[i] = cuts[i - 1] + 1;
  }
}

TEST(Partition, EqualsExhaustiveSearchOnSmallRandomModels) {
  const std::uint32_t seed = 7;
  SCOPED_TRACE(::testing::Message() << "seed " << seed);
  std::mt19937 random(seed);
  for (int round = 0; round < 600; ++round) {
    Costs costs(2 + random() % 8);
    for (std::uint64_t& cost : costs) cost = random() % 9;
    const std::uint32_t stages = 1 + random() % costs.size();
    Result<Cuts> cuts = partition_stages(costs, stages);
    ASSERT_TRUE(cuts.ok());
    ASSERT_EQ(*cuts, brute_force(costs, stages)) << ::testing::PrintToString(costs) << " in " << stages;
    // Squares of the same costs in larger units do not fit in 64 bits any more.
    for (std::uint64_t& cost : costs) cost <<= 40;
    ASSERT_EQ(*partition_stages(costs, stages), *cuts);
  }
}

std::vector<ParameterMeta> llama(std::uint64_t h, std::uint32_t layers, std::uint64_t ff, std::uint64_t vocab,
                                 bool tied) {
  std::vector<ParameterMeta> all{{"tok_embeddings.weight", {vocab, h}}};
  for (std::uint32_t i = 0; i < layers; ++i) {
    const std::string prefix = "layers." + std::to_string(i) + ".";
    for (const char* name : {"wq", "wk", "wv", "wo"}) all.push_back({prefix + "attention." + name + ".weight", {h, h}});
    for (const char* name : {"w1", "w3"}) all.push_back({prefix + "feed_forward." + name + ".weight", {ff, h}});
    all.push_back({prefix + "feed_forward.w2.weight", {h, ff}});
    all.push_back({prefix + "attention_norm.weight", {h}});
    all.push_back({prefix + "ffn_norm.weight", {h}});
  }
  all.push_back({"norm.weight", {h}});
  if (!tied) all.push_back({"output.weight", {vocab, h}});
  return all;
}

TEST(GroupParameters, CountsMatricesAndKnowsATiedHead) {
  for (bool tied : {false, true}) {
    Result<ModelGroups> groups = group_parameters(llama(16, 11, 64, 256, tied));
    ASSERT_TRUE(groups.ok()) << groups.status().to_string();
    EXPECT_EQ(groups->layers, 11u);
    EXPECT_EQ(groups->costs, llama_costs(11, 4'096, 4'096)) << "tied " << tied;
    EXPECT_EQ(groups->group_of.front(), 0u);
    EXPECT_EQ(groups->group_of[9], 1u) << "the last parameter of layer 0";
    EXPECT_EQ(groups->group_of[10], 2u) << "the first parameter of layer 1";
    EXPECT_EQ(groups->group_of.back(), 12u);
  }
}

TEST(GroupParameters, RefusesNamesAndNumbersThatItDoesNotKnow) {
  struct Case {
    std::vector<std::string> names;
    const char* says;
  };
  for (const Case& c : {Case{{"tok_embeddings.weight", "lm_head.weight"}, "lm_head.weight"},
                        {{"layers.0.w", "layers.2.w", "norm.weight"}, "layers.1.*"},
                        {{"layers.1.w", "norm.weight"}, "layers.0.*"},
                        {{"layers.00.w"}, "layers.00.w"},
                        {{"layers.0"}, "layers.0"},
                        {{"layers.0."}, "layers.0."},
                        {{"layers.-1.w"}, "layers.-1.w"},
                        {{"layers.4294967295.w", "norm.weight"}, "4294967295"},
                        {{"layers.99999999999.w"}, "layers.99999999999.w"},
                        {{"normal.weight"}, "normal.weight"}}) {
    std::vector<ParameterMeta> parameters;
    for (const std::string& name : c.names) parameters.push_back({name, {2, 2}});
    Result<ModelGroups> groups = group_parameters(parameters);
    ASSERT_FALSE(groups.ok()) << c.names.back();
    EXPECT_EQ(groups.status().code, Code::kInvalid);
    EXPECT_NE(groups.status().message.find(c.says), std::string::npos) << groups.status().message;
  }
}

TEST(AssignStages, PutsEveryLayerOnItsStageAndTheHeadOnTheLast) {
  std::vector<ParameterMeta> parameters = llama(16, 2, 64, 256, false);
  ASSERT_TRUE(assign_stages(parameters, 4).ok());
  for (const ParameterMeta& parameter : parameters) {
    std::uint32_t expected = parameter.name.starts_with("layers.0.")   ? 1
                             : parameter.name.starts_with("layers.1.") ? 2
                                                                       : 3;
    if (parameter.name == "tok_embeddings.weight") expected = 0;
    EXPECT_EQ(parameter.stage, expected) << parameter.name;
  }
  ASSERT_TRUE(assign_stages(parameters, 1).ok());
  for (const ParameterMeta& parameter : parameters) EXPECT_EQ(parameter.stage, 0u);
}

TEST(AssignStages, LeavesTheListAloneWhenItCannotWork) {
  std::vector<ParameterMeta> parameters = llama(16, 1, 64, 256, false);
  const std::vector<ParameterMeta> before = parameters;
  EXPECT_EQ(assign_stages(parameters, 4).code, Code::kInvalid);
  EXPECT_EQ(parameters, before);
  parameters.erase(parameters.begin());  // without an embedding stage 0 of 3 would be empty
  EXPECT_EQ(assign_stages(parameters, 3).code, Code::kInvalid);
}

}  // namespace
}  // namespace titan::ckpt::partition_test
