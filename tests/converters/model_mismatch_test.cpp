#include "converters/model_mismatch.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "recipe/model/parameters.h"

namespace titan::convert::model_mismatch_test {
namespace {

using ::testing::HasSubstr;

recipe::ModelDims model() {
  recipe::ModelDims dims;
  dims.dim = 64;
  dims.n_layers = 2;
  dims.n_heads = 4;
  dims.n_kv_heads = 2;
  dims.head_dim = 16;
  dims.ffn_dim = 128;
  dims.vocab_size = 256;
  return dims;
}

ckpt::Status mismatch(const std::string& name, std::vector<std::uint64_t> shape,
                      ConfigKeys keys = ConfigKeys::kHuggingface) {
  for (const ckpt::ParameterMeta& one : recipe::model_parameters(model()))
    if (one.name == name) return shape_mismatch("/hf", "its." + name, shape, one, model(), keys);
  ADD_FAILURE() << name;
  return {};
}

TEST(ModelMismatch, TheHintNamesTheKeyAndTheValueThatFits) {
  const struct {
    const char* name;
    std::vector<std::uint64_t> shape;
    const char* hint;
  } cases[] = {
      {"tok_embeddings.weight", {320, 64}, "says vocab_size = 256, the weights have 320: set vocab_size to 320"},
      {"output.weight", {257, 64}, "set vocab_size to 257"},
      {"tok_embeddings.weight", {256, 48}, "says hidden_size = 64, the weights have 48: set hidden_size to 48"},
      {"layers.0.feed_forward.w1.weight", {96, 64}, "set intermediate_size to 96"},
      {"layers.1.feed_forward.w2.weight", {64, 96}, "set intermediate_size to 96"},
      {"layers.0.attention.wq.weight", {128, 64}, "have 8 heads of 16: set num_attention_heads to 8"},
      {"layers.0.attention.wo.weight", {64, 128}, "set num_attention_heads to 8"},
      {"layers.0.attention.wk.weight", {64, 64}, "have 4 heads of 16: set num_key_value_heads to 4"},
      {"layers.0.attention.wv.weight", {24, 64}, "num_key_value_heads = 2 with head_dim 16, the weights have 24 rows"},
      {"norm.weight", {48}, "set hidden_size to 48"},
  };
  for (const auto& c : cases) {
    const ckpt::Status status = mismatch(c.name, c.shape);
    EXPECT_EQ(status.code, ckpt::Code::kIncompatible) << c.name;
    EXPECT_THAT(status.message, HasSubstr("tensor 'its." + std::string(c.name) + "' of /hf has the shape ["));
    EXPECT_THAT(status.hint, HasSubstr(c.hint)) << c.name;
  }
  EXPECT_THAT(mismatch("tok_embeddings.weight", {320, 64}, ConfigKeys::kTitan).hint,
              HasSubstr("the configuration says model.vocab_size = 256"));
  EXPECT_EQ(mismatch("norm.weight", {48, 1}).hint, "") << "another number of dimensions: no key makes that";
}

TEST(ModelMismatch, ExpertsAreCountedByTheWordOfTheFamily) {
  for (const bool normed : {false, true}) {
    recipe::ModelDims experts = model();
    experts.experts = true;
    experts.n_experts = 8;
    experts.experts_per_token = 2;
    experts.qk_norm = normed;
    std::size_t routers = 0;
    for (const ckpt::ParameterMeta& one : recipe::model_parameters(experts)) {
      if (one.shape != std::vector<std::uint64_t>{8, 64}) continue;
      ++routers;
      EXPECT_THAT(shape_mismatch("/hf", one.name, {4, 64}, one, experts,
                                 normed ? ConfigKeys::kHuggingface : ConfigKeys::kHuggingfaceLocal)
                      .hint,
                  HasSubstr(normed ? "set num_experts to 4" : "set num_local_experts to 4"));
    }
    EXPECT_EQ(routers, 2u);
  }
}

TEST(ModelMismatch, AnEmptyTensorWasSavedWithoutGathering) {
  for (const auto& shape : {std::vector<std::uint64_t>{0}, {0, 64}})
    EXPECT_THAT(mismatch("tok_embeddings.weight", shape).message, HasSubstr("saved without gathering the parameters"));
}

TEST(ModelMismatch, LayersThatDisagreeNameTheKeyAndTheNumber) {
  EXPECT_EQ(layers_mismatch(2, model(), ConfigKeys::kHuggingface), "");
  EXPECT_EQ(layers_mismatch(0, model(), ConfigKeys::kHuggingface), "");
  EXPECT_EQ(layers_mismatch(3, model(), ConfigKeys::kHuggingface),
            "config.json says num_hidden_layers = 2, the weights have 3 layers: set num_hidden_layers to 3");
  EXPECT_THAT(layers_mismatch(1, model(), ConfigKeys::kTitan), HasSubstr("set model.n_layers to 1"));
}

}  // namespace
}  // namespace titan::convert::model_mismatch_test
