// The numerics contract in one test: whole training steps give the same bits on every layout.
#include <gtest/gtest.h>

#include "tests/libtrain/support/tiny_model.h"

namespace titan::test::layouts_test {
namespace {

using enum recipe::ScheduleKind;

void expect_same(const Trace& got, const Trace& expected, const std::string& where) {
  EXPECT_TRUE(same_bits(got.losses, expected.losses)) << where;
  EXPECT_TRUE(same_bits(got.norms, expected.norms)) << where;
  ASSERT_EQ(got.weights.size(), expected.weights.size()) << where;
  for (const auto& [name, weight] : expected.weights)
    EXPECT_TRUE(same_bits(got.weights.at(name), weight)) << name << ", " << where;
  for (const auto& [name, summand] : expected.exp_avg_sq)
    EXPECT_TRUE(same_bits(got.exp_avg_sq.at(name), summand)) << name << ", " << where;
}

class Layouts : public testing::TestWithParam<std::tuple<bool, bool, int>> {};

TEST_P(Layouts, TrainToTheSameBits) {
  use_one_thread();
  const auto [bf16, tied, count] = GetParam();
  const Trace expected = train_model(make_plan(tiny_dims(tied), {}, count, bf16), 3);
  EXPECT_GT(expected.norms.front(), 0);
  for (const Layout& layout : {Layout{1, {}}, Layout{2, {}}, Layout{3, {}}, Layout{4, {}}, Layout{2, {3}},
                               Layout{3, {1, 4}}, Layout{1, {1, 2, 3, 4}}, Layout{1, {1, 2, 4}, kInterleaved1F1B, 2},
                               Layout{2, {1, 2, 4}, kZbvZeroBubble, 2}, Layout{3, {3}, kZbH1}}) {
    const auto fits = [&](std::uint32_t share) {
      const auto ranks = static_cast<std::uint32_t>(layout.cuts.size() + 1) / layout.chunks;
      return recipe::check_shape(layout.schedule, {ranks, layout.chunks, share}).ok();
    };
    const auto all = static_cast<std::uint32_t>(count);
    if (!fits(all / layout.dp) || !fits((all + layout.dp - 1) / layout.dp)) continue;
    const std::string where = std::to_string(layout.dp) + " x " + std::to_string(layout.cuts.size() + 1) + " stages, " +
                              recipe::facts_of(layout.schedule).name;
    recipe::RunPlan plan = make_plan(tiny_dims(tied), layout, count, bf16);
    expect_same(train_model(plan, 3), expected, where);
    if (plan.mesh.dp == 1) continue;
    plan.exchange = recipe::ExchangeDomain::kAlways;
    expect_same(train_model(plan, 3), expected, where + ", exchanged after each micro-batch");
  }
}

// Two domains are a butterfly where the tree falls into them, three are not; ranks of a domain need be no power of two.
TEST_P(Layouts, TrainToTheSameBitsInNodes) {
  use_one_thread();
  const auto [bf16, tied, count] = GetParam();
  const Trace expected = train_model(make_plan(tiny_dims(tied), {}, count, bf16), 3);
  struct Nodes {
    Layout layout;
    std::uint32_t ranks, domain;
  };
  for (const Nodes& nodes : {Nodes{{4, {}}, 2, 2}, Nodes{{6, {}}, 3, 3}, Nodes{{6, {}}, 2, 2}, Nodes{{4, {3}}, 2, 2},
                             Nodes{{4, {3}}, 6, 2}, Nodes{{2, {3}}, 4, 2}, Nodes{{2, {}}, 1, 1}, Nodes{{3, {}}, 2, 1},
                             Nodes{{4, {1, 2, 4}, kZbvZeroBubble, 2}, 2, 2}}) {
    recipe::RunPlan plan = make_plan(tiny_dims(tied), nodes.layout, count, bf16);
    plan.exchange = recipe::ExchangeDomain::kNode;
    plan.node_ranks = nodes.ranks;
    ASSERT_EQ(train::domain_size(plan), nodes.domain);
    expect_same(train_model(plan, 3), expected,
                std::to_string(plan.mesh.dp) + " x " + std::to_string(plan.mesh.pp) + " on nodes of " +
                    std::to_string(nodes.ranks));
  }
}

INSTANTIATE_TEST_SUITE_P(All, Layouts, testing::Combine(testing::Bool(), testing::Bool(), testing::Values(7, 8, 12)),
                         [](const auto& info) {
                           return std::string(std::get<0>(info.param) ? "Bf16" : "Fp32") +
                                  (std::get<1>(info.param) ? "Tied" : "Untied") + "M" +
                                  std::to_string(std::get<2>(info.param));
                         });

struct Family {
  const char* name;
  recipe::ModelDims dims;
};
std::vector<Family> families() {
  recipe::ModelDims window = tiny_dims(), post = tiny_dims(true), experts = tiny_dims();
  window.window = {6, {{0, 1}, {2, 1}}};
  post.post_norm = post.qk_norm = post.whole_qk_norm = true;
  experts.experts = experts.route_norm = true;
  experts.n_experts = 5;
  experts.experts_per_token = 2;
  return {{"window", window}, {"norms after the blocks", post}, {"experts", experts}};
}

// By every schedule, with and without recomputation; in bf16 by one.
TEST(Layouts, ModelsOfOtherFamiliesTrainToTheSameBits) {
  use_one_thread();
  for (const Family& family : families()) {
    for (const bool bf16 : {false, true}) {
      const auto train = [&](const Layout& layout, std::int64_t recompute_each) {
        recipe::RunPlan plan = make_plan(family.dims, layout, 8, bf16);
        plan.recompute_each = recompute_each;
        plan.router_aux_loss = family.dims.experts ? 0.01 : 0;
        return train_model(plan, 2);
      };
      const Trace expected = train({}, 0);
      EXPECT_GT(expected.norms.front(), 0);
      expect_same(train({3, {3}}, 2), expected, std::string(family.name) + ", 3 x 2");
      if (bf16) continue;
      for (const recipe::ScheduleFacts& facts : recipe::schedules())
        expect_same(train({1, {1, 2, 4}, facts.kind, facts.least_chunks}, 1), expected,
                    std::string(family.name) + ", " + facts.name);
    }
  }
}

TEST(LayoutsControl, AnotherBatchOfMicroBatchesGivesOtherBits) {
  const Trace a = train_model(make_plan(tiny_dims(), {}, 7), 2), b = train_model(make_plan(tiny_dims(), {}, 8), 2);
  EXPECT_FALSE(same_bits(a.losses, b.losses));
  EXPECT_FALSE(same_bits(a.weights.at("norm.weight"), b.weights.at("norm.weight")));
}

}  // namespace
}  // namespace titan::test::layouts_test
