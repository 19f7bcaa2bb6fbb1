#include "recipe/plan/exchange_parts.h"

#include <map>
#include <numeric>
#include <set>

#include <gtest/gtest.h>

#include "recipe/model/parameters.h"
#include "recipe/plan/run_plan.h"
#include "tests/recipe/support/config_support.h"

namespace titan::recipe::exchange_parts_test {
namespace {

RunPlan plan_of(std::int64_t layers, std::uint32_t dp, std::uint32_t parts, bool tied = false) {
  RunPlan plan;
  plan.dims = {.dim = 2048, .n_layers = layers, .n_heads = 16, .n_kv_heads = 8, .head_dim = 128, .ffn_dim = 8192};
  plan.dims.vocab_size = 32768;
  plan.dims.tied = tied;
  plan.mesh = {.pp = 1, .dp = dp};
  plan.parameters = model_parameters(plan.dims);
  plan.exchange_parts = parts;
  return plan;
}

std::map<std::uint32_t, std::uint64_t> sizes(const RunPlan& plan) {
  std::map<std::uint32_t, std::uint64_t> sizes;
  const std::vector<std::uint32_t> parts = exchange_parts(plan);
  for (std::size_t i = 0; i < parts.size(); ++i) sizes[parts[i]] += ckpt::element_count(plan.parameters[i].shape);
  return sizes;
}

TEST(ExchangeParts, AreWholeLayersInModelOrderOfAboutOneSize) {
  const RunPlan plan = plan_of(16, 8, 4);
  const std::vector<std::uint32_t> parts = exchange_parts(plan);
  EXPECT_TRUE(std::ranges::is_sorted(parts));
  std::map<std::string, std::set<std::uint32_t>> of_layer;
  for (std::size_t i = 0; i < parts.size(); ++i) {
    const std::string& name = plan.parameters[i].name;
    if (name.starts_with("layers.")) of_layer[name.substr(0, name.find('.', 7))].insert(parts[i]);
  }
  EXPECT_EQ(of_layer.size(), 16u);
  for (const auto& [layer, of_it] : of_layer) EXPECT_EQ(of_it.size(), 1u) << layer;
  const auto by_part = sizes(plan);
  ASSERT_EQ(by_part.size(), 4u);
  std::uint64_t all = 0, most = 0;
  for (const auto& [part, elements] : by_part) {
    all += elements;
    most = std::max(most, elements);
  }
  EXPECT_LT(most, all * 3 / 8);
}

TEST(ExchangeParts, OneIsEverything) {
  EXPECT_EQ(sizes(plan_of(4, 8, 1)).size(), 1u);
  EXPECT_EQ(sizes(plan_of(4, 8, 1, true)).size(), 1u);
}

TEST(ExchangeParts, MoreThanThereAreLayersAreOneForEach) {
  EXPECT_EQ(sizes(plan_of(4, 8, 1000)).size(), 6u) << "embedding, four layers, norm and head";
}

TEST(ExchangeParts, ATiedEmbeddingIsOneOfItsOwn) {
  const RunPlan plan = plan_of(4, 8, 2, true);
  const std::vector<std::uint32_t> parts = exchange_parts(plan);
  EXPECT_EQ(plan.parameters.front().name, "tok_embeddings.weight");
  EXPECT_EQ(parts.front(), 0u);
  EXPECT_EQ(parts[1], 1u);
  EXPECT_EQ(sizes(plan).size(), 3u);
}

TEST(ExchangeParts, AreCountedOnEachRankOfThePipeline) {
  RunPlan plan = plan_of(4, 8, 2);
  plan.mesh.pp = 2;
  for (ckpt::ParameterMeta& parameter : plan.parameters)
    parameter.stage = parameter.name.starts_with("layers.2") || parameter.name.starts_with("layers.3") ||
                              parameter.name == "norm.weight" || parameter.name == "output.weight"
                          ? 1
                          : 0;
  const std::vector<std::uint32_t> parts = exchange_parts(plan);
  std::map<std::uint32_t, std::set<std::uint32_t>> of_rank;
  for (std::size_t i = 0; i < parts.size(); ++i) of_rank[plan.parameters[i].stage].insert(parts[i]);
  EXPECT_EQ(of_rank[0], (std::set<std::uint32_t>{0, 1}));
  EXPECT_EQ(of_rank[1], (std::set<std::uint32_t>{0, 1}));
}

// Ownership is in whole leaves: each part has enough of them for an even share of each.
TEST(ExchangeParts, AreAsManyAsCanBeSharedOutEvenly) {
  EXPECT_EQ(most_exchange_parts(plan_of(16, 1, 1)), 1u) << "one rank exchanges nothing";
  EXPECT_EQ(most_exchange_parts(plan_of(16, 2, 1)), 18u);
  for (const std::uint32_t dp : {8u, 16u, 64u, 512u}) {
    RunPlan plan = plan_of(16, dp, 1);
    plan.exchange_parts = most_exchange_parts(plan);
    const ckpt::Ownership owners = owners_of(plan);
    std::uint64_t all = 0, most = 0;
    for (std::uint32_t rank = 0; rank < dp; ++rank) {
      std::uint64_t owned = 0;
      for (const ckpt::OwnedPiece& piece : owners.of(rank)) {
        const ckpt::LeafGrid grid = plan.parameters[piece.parameter].grid(plan.leaf_elements);
        owned += grid.begin(piece.leaves.end()) - grid.begin(piece.leaves.first);
      }
      all += owned;
      most = std::max(most, owned);
    }
    if (plan.exchange_parts == 1) continue;
    EXPECT_LT(static_cast<double>(most) * dp / static_cast<double>(all), 1.06)
        << dp << " ranks, parts " << plan.exchange_parts;
  }
  EXPECT_EQ(most_exchange_parts(plan_of(16, 512, 1)), 1u) << "each owns seven leaves";
}

TEST(ExchangeParts, ComeFromTheKeyOrTheDevice) {
  const auto parts = [](const std::string& keys, std::uint32_t world) {
    return make_run_plan(load_ok(keys, {"--model.flavor=8B"}).config, world)->exchange_parts;
  };
  EXPECT_EQ(parts("", 4), 1u);
  EXPECT_EQ(parts("parallelism.exchange_parts = 5", 4), 5u);
  EXPECT_EQ(parts("parallelism.exchange_parts = 5", 1), 1u);
  EXPECT_GT(parts("training.device = \"cuda\"", 4), 4u);
  EXPECT_EQ(parts("training.device = \"cuda\"\nparallelism.exchange_parts = 1", 4), 1u);
}

}  // namespace
}  // namespace titan::recipe::exchange_parts_test
