#include "recipe/model/family.h"

#include <gtest/gtest.h>

#include "recipe/model/dims.h"
#include "recipe/model/parameters.h"

namespace titan::recipe::family_test {
namespace {

ModelDims dims() {
  return {.dim = 8, .n_layers = 12, .n_heads = 4, .n_kv_heads = 2, .head_dim = 6, .ffn_dim = 20, .vocab_size = 11};
}

TEST(Family, EveryNameLeadsToItsPart) {
  ModelDims all = dims();
  all.qkv_bias = all.qk_norm = true;
  std::size_t named = 0;
  for (const ckpt::ParameterMeta& parameter : model_parameters(all)) {
    const auto part = part_of(parameter.name);
    ASSERT_TRUE(part) << parameter.name;
    EXPECT_EQ(name_of(part->kind->part, part->layer), parameter.name);
    EXPECT_EQ(shape_of(*part->kind, all), parameter.shape);
    named += part->layer == 11 ? 1 : 0;
  }
  EXPECT_EQ(named, kParts - 3);
  for (const char* name : {"layers.01.attention.wq.weight", "layers.x.attention.wq.weight", "layers.0.attention.wq",
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
}

TEST(Family, CountsTheElementsOfALayer) {
  // dim 8, 24 query rows, 12 key rows, 20 inner: q 192, k 96, v 96, out 192, three of 160, two norms of 8.
  EXPECT_EQ(layer_elements(dims(), /*matrices=*/true), 192u + 96 + 96 + 192 + 3 * 160);
  EXPECT_EQ(layer_elements(dims()), layer_elements(dims(), true) + 16);
  ModelDims all = dims();
  all.qkv_bias = all.qk_norm = true;
  EXPECT_EQ(layer_elements(all), layer_elements(dims()) + 24 + 2 * 12 + 2 * 6);
  EXPECT_EQ(layer_elements(all, true), layer_elements(dims(), true));
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
