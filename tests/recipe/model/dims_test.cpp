#include "recipe/model/dims.h"

#include <gtest/gtest.h>

#include "recipe/keys/writer.h"
#include "recipe/plan/run_plan.h"
#include "tests/recipe/support/config_support.h"

namespace titan::recipe::dims_test {
namespace {

const RopeScaling kTorchtitans{8, 1, 4, 8192};

TEST(ModelDims, FlavoursHaveTorchtitansDimensions) {
  EXPECT_EQ(dims_of("model.flavor=debugmodel"),
            (ModelDims{256, 6, 16, 16, 16, 768, 2048, 1e-5, 500000, false, false, false, kTorchtitans}));
  EXPECT_EQ(dims_of("model.flavor=8B"),
            (ModelDims{4096, 32, 32, 8, 128, 14336, 128256, 1e-5, 500000, false, false, false, kTorchtitans}));
  EXPECT_EQ(dims_of("model.flavor=70B"),
            (ModelDims{8192, 80, 64, 8, 128, 28672, 128256, 1e-5, 500000, false, false, false, kTorchtitans}));
  EXPECT_EQ(dims_of("model.flavor=405B"),
            (ModelDims{16384, 126, 128, 8, 128, 53248, 128256, 1e-5, 500000, false, false, false, kTorchtitans}));
}

// Of these, a flavour that is given scales RoPE as torchtitan does.
TEST(ModelDims, OnlyAFlavourThatIsGivenScalesRope) {
  EXPECT_EQ(dims_of(""), (ModelDims{256, 6, 16, 16, 16, 768, 2048, 1e-5, 500000, false}));
  EXPECT_EQ(dims_of("model.flavor=debugmodel model.rope_scaling=none"), dims_of(""));
  EXPECT_EQ(dims_of("model.flavor=8B model.rope_scaling=llama3:32:1:4:8192").rope_scaling->factor, 32);
  EXPECT_EQ(dims_of("model.flavor=debugmodel model.dim=64 model.n_heads=4 model.rope_theta=10000").rope_scaling,
            kTorchtitans);
  EXPECT_EQ(dims_of("model.rope_scaling=none").rope_scaling, std::nullopt);
}

// Earlier versions wrote the flavour and all its dimensions into RUN/config.toml, and scaled nothing.
TEST(ModelDims, AFlavourBesideEveryDimensionSaysNothing) {
  const std::string all =
      "model.flavor=8B model.dim=64 model.n_layers=2 model.n_heads=4 model.n_kv_heads=2 model.head_dim=16 "
      "model.ffn_dim=96 model.vocab_size=99 model.norm_eps=1e-5";
  EXPECT_EQ(dims_of(all).rope_scaling, kTorchtitans);
  EXPECT_EQ(dims_of(all + " model.rope_theta=500000").rope_scaling, std::nullopt);
  RunPlan made;
  const Config config = load_ok("", split(all + " model.rope_theta=500000")).config;
  made.dims = *model_dims(config);
  EXPECT_EQ(resolved_config(config, made).model.rope_scaling, "none") << "from now on it is written down";
}

// What a run writes down means the same when it is read again.
TEST(ModelDims, AResolvedConfigurationKeepsItsScaling) {
  for (const char* flags :
       {"", "model.flavor=8B", "model.flavor=8B model.rope_scaling=none", "model.rope_scaling=llama3:4:1:4:64"}) {
    const Config config = load_ok("", split(flags)).config;
    RunPlan made;
    made.dims = *model_dims(config);
    made.batch.global = 8;
    const Config resolved = resolved_config(config, made);
    EXPECT_EQ(*model_dims(resolved), made.dims) << flags;
    EXPECT_EQ(*model_dims(load_ok(config_toml(resolved), {}).config), made.dims) << flags;
  }
}

TEST(ModelDims, ExplicitDimensionsWinOverTheFlavour) {
  EXPECT_EQ(
      dims_of(
          "model.dim=200 model.n_layers=2 model.n_heads=4 model.n_kv_heads=2 model.ffn_dim=300 model.vocab_size=4099 "
          "model.tied_embeddings=true model.norm_eps=1e-6 model.rope_theta=10000"),
      (ModelDims{200, 2, 4, 2, 50, 300, 4099, 1e-6, 10000, true}));
  EXPECT_EQ(dims_of("model.dim=128 model.n_heads=4").n_kv_heads, 4);
  EXPECT_EQ(dims_of("model.flavor=8B model.n_heads=16").n_kv_heads, 16);
  EXPECT_EQ(dims_of("model.flavor=8B model.dim=2048").n_kv_heads, 8);
  EXPECT_EQ(dims_of("model.dim=100 model.head_dim=32").head_dim, 32);
  EXPECT_EQ(dims_of("model.dim=512").ffn_dim, 1536);
}

TEST(ModelDims, BiasesAndScalingAreOffUnlessAskedFor) {
  EXPECT_FALSE(dims_of("").qkv_bias);
  EXPECT_FALSE(dims_of("").rope_scaling.has_value());
  EXPECT_TRUE(dims_of("model.qkv_bias=true").qkv_bias);
  EXPECT_EQ(dims_of("model.rope_scaling=llama3:32.0:1:4.0:8192").rope_scaling, (RopeScaling{32, 1, 4, 8192}));
}

TEST(ModelDims, Qwen3sFlavoursAreTorchtitans) {
  EXPECT_EQ(dims_of("model.name=qwen3 model.flavor=0.6B"),
            (ModelDims{1024, 28, 16, 8, 128, 3072, 151936, 1e-6, 1e6, true, false, true}));
  EXPECT_EQ(dims_of("model.name=qwen3 model.flavor=32B"),
            (ModelDims{5120, 64, 64, 8, 128, 25600, 151936, 1e-6, 1e6, false, false, true}));
  const ModelDims own = dims_of("model.name=qwen3 model.dim=100 model.n_heads=3 model.qk_norm=false");
  EXPECT_EQ(own.head_dim, 128) << "whatever dim / n_heads is";
  EXPECT_EQ(own.ffn_dim, 3072);
  EXPECT_FALSE(own.qk_norm);
  EXPECT_TRUE(dims_of("model.qk_norm=true").qk_norm);
  EXPECT_FALSE(dims_of("").qk_norm);
  EXPECT_EQ(load_error("", {"--model.name=qwen3", "--model.flavor=70B"}).message,
            "model.flavor: unknown flavour '70B' of qwen3; known: debugmodel, 0.6B, 1.7B, 4B, 8B, 14B, 32B");
}

TEST(ModelDims, LongropeHasAFactorForEachPair) {
  EXPECT_EQ(dims_of("model.head_dim=4 model.rope_scaling=longrope:2:64:1.1:1,2:3,4").rope_scaling->long_factors[1], 4);
  EXPECT_EQ(load_error("", {"--model.head_dim=6", "--model.rope_scaling=longrope:2:64:1.1:1,2:3,4"}).message,
            "model.rope_scaling: longrope has 2 factors, expected 3, half of model.head_dim");
}

TEST(ModelDims, RefusesPartsThatDoNotGoTogether) {
  for (const auto& [flags, message] :
       {std::pair{"model.n_experts=4", "model.experts_per_token is 0, expected 1 to model.n_experts, which is 4"},
        {"model.n_experts=4 model.experts_per_token=5", "model.experts_per_token is 5"},
        {"model.n_experts=65536 model.experts_per_token=5",
         "model.n_experts is 65536 in each of 6 layers, expected at most 200000 in all"},
        {"model.route_norm=true", "are of experts, and model.n_experts is not set"},
        {"model.whole_qk_norm=true", "model.qk_norm is false"},
        {"model.sliding_window_layers=0", "without model.sliding_window"},
        {"model.sliding_window=8 model.sliding_window_layers=4-6", "layer 6 is none of the model's 6"}}) {
    const Status status = load_error("", split(flags));
    EXPECT_NE(status.message.find(message), std::string::npos) << status.to_string();
  }
}

TEST(ModelDims, RefusesHeadsThatDoNotDivide) {
  struct Case {
    const char* flags;
    const char* message;
  };
  for (const Case& c :
       {Case{"--model.dim=100", "model.dim 100 is not a multiple of model.n_heads 16"},
        {"--model.n_kv_heads=3", "model.n_heads 16 is not a multiple of model.n_kv_heads 3"},
        {"--model.dim=48", "model.head_dim 3 (= model.dim / model.n_heads) is odd; RoPE rotates pairs"}}) {
    const Status status = load_error("", {c.flags});
    EXPECT_EQ(status.code, ckpt::Code::kInvalid);
    EXPECT_EQ(status.message, c.message);
  }
}

}  // namespace
}  // namespace titan::recipe::dims_test
