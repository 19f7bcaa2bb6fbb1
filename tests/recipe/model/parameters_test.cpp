#include "recipe/model/parameters.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/recipe/support/config_support.h"

namespace titan::recipe::parameters_test {
namespace {

using testing::ElementsAre;

TEST(ModelParameters, BiasesStandBehindTheirWeights) {
  std::vector<std::string> names;
  for (const ckpt::ParameterMeta& p :
       model_parameters(dims_of("model.n_layers=1 model.n_kv_heads=4 model.qkv_bias=true")))
    names.push_back(p.name);
  EXPECT_EQ(std::vector<std::string>(names.begin() + 1, names.begin() + 8),
            (std::vector<std::string>{"layers.0.attention.wq.weight", "layers.0.attention.wq.bias",
                                      "layers.0.attention.wk.weight", "layers.0.attention.wk.bias",
                                      "layers.0.attention.wv.weight", "layers.0.attention.wv.bias",
                                      "layers.0.attention.wo.weight"}));
  const auto list = model_parameters(dims_of("model.n_kv_heads=4 model.qkv_bias=true"));
  EXPECT_THAT(list[2].shape, ElementsAre(256u));
  EXPECT_THAT(list[4].shape, ElementsAre(64u));
}

TEST(ModelParameters, StandInModuleOrderWithTorchtitansNamesAndShapes) {
  ModelDims dims{8, 1, 4, 2, 6, 20, 11};
  std::vector<std::string> names;
  for (const auto& p : model_parameters(dims)) {
    std::string text = p.name;
    for (const auto n : p.shape) text += " " + std::to_string(n);
    names.push_back(text);
  }
  EXPECT_THAT(names, ElementsAre("tok_embeddings.weight 11 8", "layers.0.attention.wq.weight 24 8",
                                 "layers.0.attention.wk.weight 12 8", "layers.0.attention.wv.weight 12 8",
                                 "layers.0.attention.wo.weight 8 24", "layers.0.feed_forward.w1.weight 20 8",
                                 "layers.0.feed_forward.w2.weight 8 20", "layers.0.feed_forward.w3.weight 20 8",
                                 "layers.0.attention_norm.weight 8", "layers.0.ffn_norm.weight 8", "norm.weight 8",
                                 "output.weight 11 8"));
  dims.tied = true;
  EXPECT_EQ(model_parameters(dims).back().name, "norm.weight");
}

TEST(ModelParameters, Llama3HasItsPublishedCount) {
  std::uint64_t total = 0;
  for (const auto& p : model_parameters(dims_of("model.flavor=8B"))) total += ckpt::element_count(p.shape);
  EXPECT_EQ(total, 8'030'261'248u);
}

TEST(ModelParameters, BiasesAreListedAndATiedHeadIsNot) {
  ModelDims model{48, 1, 6, 2, 10, 80, 101};
  model.qkv_bias = true;
  std::vector<std::string> names;
  for (const ckpt::ParameterMeta& meta : model_parameters(model)) names.push_back(meta.name);
  EXPECT_EQ(names, (std::vector<std::string>{
                       "tok_embeddings.weight", "layers.0.attention.wq.weight", "layers.0.attention.wq.bias",
                       "layers.0.attention.wk.weight", "layers.0.attention.wk.bias", "layers.0.attention.wv.weight",
                       "layers.0.attention.wv.bias", "layers.0.attention.wo.weight", "layers.0.feed_forward.w1.weight",
                       "layers.0.feed_forward.w2.weight", "layers.0.feed_forward.w3.weight",
                       "layers.0.attention_norm.weight", "layers.0.ffn_norm.weight", "norm.weight", "output.weight"}));
  model.tied = true;
  EXPECT_EQ(model_parameters(model).size(), names.size() - 1);
  EXPECT_EQ(model_parameters(model)[1].shape, (std::vector<std::uint64_t>{60, 48}));
  EXPECT_EQ(model_parameters(model)[3].shape, (std::vector<std::uint64_t>{20, 48}));
}

}  // namespace
}  // namespace titan::recipe::parameters_test
