#include "recipe/model/family.h"

#include <gtest/gtest.h>

#include "recipe/model/dims.h"
#include "recipe/model/parameters.h"

namespace titan::recipe::family_test {
namespace {

ModelDims dims() {
  return {.dim = 8, .n_layers = 12, .n_heads = 4, .n_kv_heads = 2, .head_dim = 6, .ffn_dim = 20, .vocab_size = 11};
}

ModelDims with_experts() {
  ModelDims model = dims();
  model.experts = true;
  model.n_experts = 3;
  model.experts_per_token = 2;
  return model;
}

TEST(Family, EveryNameLeadsToItsPart) {
  ModelDims all = dims(), other = with_experts();
  all.qkv_bias = all.qk_norm = true;
  other.post_norm = other.qk_norm = other.whole_qk_norm = true;
  for (const ModelDims& model : {all, other}) {
    std::size_t named = 0;
    for (const ckpt::ParameterMeta& parameter : model_parameters(model)) {
      const auto part = part_of(parameter.name);
      ASSERT_TRUE(part) << parameter.name;
      EXPECT_EQ(name_of(part->kind->part, part->layer, part->expert), parameter.name);
      EXPECT_EQ(shape_of(*part->kind, model), parameter.shape);
      named += part->layer == 11 ? 1 : 0;
    }
    EXPECT_EQ(named, model.experts ? 4u + 2 + 2 + 1 + 3 * 3 : 4u + 3 + 2 + 2 + 3);
  }
  for (const char* name : {"layers.0.moe.experts.w1.weight", "layers.0.moe.experts.01.w1.weight",
                           "layers.01.attention.wq.weight", "layers.x.attention.wq.weight", "layers.0.attention.wq",
                           "layers.1234567890.ffn_norm.weight", "output.bias", ""})
    EXPECT_FALSE(part_of(name)) << name;
}

TEST(Family, SwitchesAddTheirParts) {
  EXPECT_EQ(layer_kinds(dims()).size(), 9u);
  ModelDims biased = dims(), normed = dims();
  biased.qkv_bias = normed.qk_norm = true;
  EXPECT_EQ(layer_kinds(biased).size(), 12u);
  EXPECT_EQ(layer_kinds(normed).size(), 11u);
  EXPECT_EQ(layer_kinds(normed).front()->part, Part::kQueryNorm);
  ModelDims after = dims();
  after.post_norm = true;
  EXPECT_EQ(layer_kinds(after).size(), 9u);
  EXPECT_EQ(layer_kinds(after).back()->part, Part::kFeedForwardPostNorm);
}

TEST(Family, ExpertsStandOneBehindTheOther) {
  std::vector<std::string> names;
  for (const ckpt::ParameterMeta& parameter : model_parameters(with_experts()))
    if (parameter.name.starts_with("layers.2.moe.")) names.push_back(parameter.name.substr(13));
  EXPECT_EQ(names, (std::vector<std::string>{"router.gate.weight", "experts.0.w1.weight", "experts.0.w2.weight",
                                             "experts.0.w3.weight", "experts.1.w1.weight", "experts.1.w2.weight",
                                             "experts.1.w3.weight", "experts.2.w1.weight", "experts.2.w2.weight",
                                             "experts.2.w3.weight"}));
}

TEST(Family, CountsTheElementsOfALayer) {
  // dim 8, 24 query rows, 12 key rows, 20 inner: q 192, k 96, v 96, out 192, three of 160, two norms of 8.
  EXPECT_EQ(multiplied_elements(dims()), 192u + 96 + 96 + 192 + 3 * 160);
  EXPECT_EQ(layer_elements(dims()), multiplied_elements(dims()) + 16);
  ModelDims all = dims();
  all.qkv_bias = all.qk_norm = true;
  EXPECT_EQ(layer_elements(all), layer_elements(dims()) + 24 + 2 * 12 + 2 * 6);
  EXPECT_EQ(multiplied_elements(all), multiplied_elements(dims()));
  all.whole_qk_norm = true;
  EXPECT_EQ(layer_elements(all), layer_elements(dims()) + 24 + 2 * 12 + 24 + 12);
  // Three experts of three of 160, of which a token takes two, and a router of 3 x 8.
  EXPECT_EQ(layer_elements(with_experts()), layer_elements(dims()) + 24 + 2 * 3 * 160);
  EXPECT_EQ(multiplied_elements(with_experts()), multiplied_elements(dims()) + 24 + 3 * 160);
  EXPECT_EQ(inactive_elements(with_experts()), 12u * 3 * 160);
  EXPECT_EQ(inactive_elements(dims()), 0u);
}

TEST(Family, AWindowShortensWhatTokensSee) {
  ModelDims model = dims();
  EXPECT_EQ(mean_seen(model, 100), 100);
  model.window = {40, {}};
  EXPECT_EQ(mean_seen(model, 100), 40);
  EXPECT_EQ(mean_seen(model, 30), 30);
  model.window.layers = {{0, 3}, {5, 3}};  // 6 of 12
  EXPECT_EQ(mean_seen(model, 100), 70);
}

TEST(Family, NamesOutsideTheLayersAreTheList) {
  EXPECT_EQ(kind_of(Part::kEmbedding).ours, kEmbeddingName);
  EXPECT_EQ(kind_of(Part::kHead).huggingface, kHuggingfaceHead);
  for (const ParameterKind& kind : parameter_kinds()) {
    EXPECT_EQ(kind.in_layer(), kind.huggingface.find('#') != std::string_view::npos) << kind.ours;
    EXPECT_EQ(&kind_of(kind.part), &kind);
  }
}

}  // namespace
}  // namespace titan::recipe::family_test
