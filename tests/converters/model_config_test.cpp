#include "converters/model_config.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "ckpt/base/toml_text.h"
#include "ckpt/plan/lr_settings.h"
#include "converters/flavor.h"

namespace titan::convert {
namespace {

using ckpt::Code;

ModelConfig small() {
  ModelConfig model;
  model.dim = 48;
  model.n_layers = 2;
  model.n_heads = 6;
  model.n_kv_heads = 2;
  model.head_dim = 10;
  model.ffn_dim = 80;
  model.vocab_size = 101;
  model.norm_eps = 1e-6;
  model.rope_theta = 10000;
  return model;
}

TEST(ModelConfig, SettingsReadBackAsTheSameModel) {
  ModelConfig model = small();
  for (int variant = 0; variant < 8; ++variant) {
    model.tied = (variant & 1) != 0;
    model.qkv_bias = (variant & 2) != 0;
    model.rope_scaling.reset();
    if ((variant & 4) != 0) model.rope_scaling = RopeScaling{32, 1, 4, 8192};
    const ckpt::Settings settings = model_settings(model);
    EXPECT_TRUE(std::is_sorted(settings.begin(), settings.end()));
    const auto again = model_from_settings("x", settings);
    ASSERT_TRUE(again.ok()) << again.status().to_string();
    EXPECT_EQ(*again, model);
  }
}

TEST(ModelConfig, WritesScalingAsOneTextOfShortestNumbers) {
  ModelConfig model = small();
  model.rope_scaling = RopeScaling{8, 1, 4, 8192};
  const ckpt::Settings settings = model_settings(model);
  EXPECT_EQ(std::ranges::find(settings, std::string("model.rope_scaling"), &ckpt::Settings::value_type::first)->second,
            "\"llama3:8:1:4:8192\"");
}

TEST(ModelConfig, TakesWhatIsNotSetAsAbsentAndNoScalingByName) {
  for (const char* scaling : {"not set", "\"none\""}) {
    const auto back = model_from_settings(
        "run",
        ckpt::with_rows(model_settings(small()), {{"model.qkv_bias", "not set"}, {"model.rope_scaling", scaling}}));
    ASSERT_TRUE(back.ok()) << back.status().to_string();
    EXPECT_EQ(*back, small());
  }
  EXPECT_FALSE(model_from_settings("run", ckpt::with_rows(model_settings(small()), {{"model.dim", "not set"}})).ok());
}

// As titan-train takes it, and so what a configuration file need not say.
TEST(ModelConfig, TheWidthOfAHeadIsDimOverHeadsWhereNobodySaysIt) {
  const auto back =
      model_from_settings("run", ckpt::with_rows(model_settings(small()), {{"model.head_dim", "not set"}}));
  ASSERT_TRUE(back.ok()) << back.status().to_string();
  EXPECT_EQ(back->head_dim, 8u);
  EXPECT_FALSE(model_from_settings("run", ckpt::with_rows(model_settings(small()),
                                                          {{"model.head_dim", "not set"}, {"model.n_heads", "5"}}))
                   .ok());
}

TEST(ModelConfig, NamesEveryRowThatIsMissing) {
  const auto model = model_from_settings("run/step", {{"model.dim", "16"}, {"optimizer.lr", "0.001"}});
  ASSERT_FALSE(model.ok());
  EXPECT_EQ(model.status().code, Code::kIncompatible);
  EXPECT_EQ(model.status().message,
            "run/step does not say what its model is: model.n_layers, model.n_heads, model.n_kv_heads, model.ffn_dim, "
            "model.vocab_size, model.norm_eps, model.rope_theta missing");
}

TEST(ModelConfig, RefusesRowsOfAnotherTypeAndModelsThatCannotBe) {
  struct Case {
    const char *key, *value, *message;
  };
  for (const Case& c : std::initializer_list<Case>{
           {"model.dim", "\"48\"", "model.dim is \"48\""},
           {"model.dim", "-1", "model.dim is -1"},
           {"model.tied_embeddings", "1", "model.tied_embeddings is 1"},
           {"model.n_heads", "0", "model.n_heads is 0"},
           {"model.n_heads", "5", "not a multiple of model.n_kv_heads"},
           {"model.head_dim", "7", "is odd"},
           {"model.n_layers", "100001", "at most 100000"},
           {"model.norm_eps", "nan", "must be positive"},
           {"model.rope_scaling", "\"yarn:8:1:4:64\"", "model.rope_scaling is \"yarn:8:1:4:64\""},
           {"model.rope_scaling", "\"llama3:8:1:4\"", "model.rope_scaling is \"llama3:8:1:4\""},
           {"model.rope_scaling", "\"llama3:8:1:4:64:1\"", "model.rope_scaling is"},
           {"model.rope_scaling", "\"llama3:8:4:4:64\"", "0 < low < high"},
       }) {
    ModelConfig model = small();
    model.rope_scaling.emplace();
    ckpt::Settings settings = model_settings(model);
    std::ranges::find(settings, std::string(c.key), &ckpt::Settings::value_type::first)->second = c.value;
    const auto read = model_from_settings("x", settings);
    ASSERT_FALSE(read.ok()) << c.key;
    EXPECT_EQ(read.status().code, Code::kIncompatible) << c.key;
    EXPECT_NE(read.status().message.find(c.message), std::string::npos) << read.status().message;
  }
}

TEST(ModelConfig, TakesFromAFlavourWhatIsNotGiven) {
  const auto rows = [](ckpt::Settings given, const char* flavor) {
    return flavor_rows(ckpt::with_rows(std::move(given), {{"model.flavor", flavor}}));
  };
  EXPECT_EQ(rows({}, "\"8B\""), (ckpt::Settings{{"model.dim", "4096"},
                                                {"model.ffn_dim", "14336"},
                                                {"model.head_dim", "128"},
                                                {"model.n_heads", "32"},
                                                {"model.n_kv_heads", "8"},
                                                {"model.n_layers", "32"},
                                                {"model.norm_eps", "0.00001"},
                                                {"model.qkv_bias", "false"},
                                                {"model.rope_theta", "500000.0"},
                                                {"model.tied_embeddings", "false"},
                                                {"model.vocab_size", "128256"}}));
  const ckpt::Settings narrow =
      rows({{"model.dim", "64"}, {"model.n_heads", "4"}, {"model.rope_theta", "1e4"}}, "'debugmodel'");
  EXPECT_EQ(ckpt::setting(narrow, "model.ffn_dim"), "256");
  EXPECT_EQ(ckpt::setting(narrow, "model.head_dim"), "16");
  EXPECT_EQ(ckpt::setting(narrow, "model.n_kv_heads"), "4");
  for (const char* key : {"model.dim", "model.n_heads", "model.rope_theta", "model.rope_scaling"})
    EXPECT_FALSE(ckpt::has_setting(narrow, key)) << key;
  EXPECT_TRUE(rows({}, "\"mine\"").empty());
  EXPECT_TRUE(flavor_rows({}).empty());
}

ckpt::Status agree(const ModelConfig& model, const ckpt::Settings& given, const Comparison& how) {
  return agreed_rows("x", model_settings(model), ckpt::with_rows({}, given), how).status();
}

// debugmodel of torchtitan, scaled.
ModelConfig debugmodel() {
  ModelConfig model;
  model.dim = 256, model.n_layers = 6, model.n_heads = 16, model.n_kv_heads = 16, model.head_dim = 16,
  model.ffn_dim = 768, model.vocab_size = 2048;
  model.rope_scaling.emplace();
  return model;
}

TEST(ModelConfig, TorchtitansFlavoursScaleRope) {
  const ckpt::Settings flavor{{"model.flavor", "\"debugmodel\""}};
  ModelConfig model = debugmodel();
  EXPECT_TRUE(agree(model, flavor, {.torchtitan = true}).ok());
  EXPECT_EQ(ckpt::setting(model_settings(model), "model.rope_scaling"), ckpt::toml_string(recipe::kFlavorRopeScaling));
  model.rope_scaling.reset();
  EXPECT_TRUE(agree(model, flavor, {}).ok()) << "a checkpoint of ours keeps what it says";
  const ckpt::Status refused = agree(model, flavor, {.torchtitan = true});
  EXPECT_EQ(refused.code, Code::kIncompatible);
  EXPECT_EQ(refused.message, "x: model.rope_scaling is not set, the configuration says \"llama3:8:1:4:8192\"");
  EXPECT_TRUE(agree(model, ckpt::with_rows(flavor, {{"model.rope_scaling", "\"none\""}}), {.torchtitan = true}).ok());
}

TEST(ModelConfig, AFlavourThatWasEditedInPlaceGoesForTorchtitan) {
  ModelConfig model = debugmodel();
  model.vocab_size = 512, model.ffn_dim = 100, model.n_kv_heads = 4;
  ckpt::Settings given{{"model.flavor", "'debugmodel'"}};
  EXPECT_TRUE(agree(model, given, {.torchtitan = true}).ok());
  EXPECT_FALSE(agree(model, given, {}).ok()) << "titan-train reads the flavour itself";
  model.n_heads = 8;
  EXPECT_EQ(agree(model, given, {.torchtitan = true}).message, "x: model.n_heads is 8, the configuration says 16");
  model.dim = 64, model.n_heads = 4;
  EXPECT_FALSE(agree(model, given, {.torchtitan = true}).ok()) << "of another size: who says the heads?";
  given = ckpt::with_rows(
      given, {{"model.n_heads", "4"}, {"model.rope_scaling", "\"llama3:8:1:4:8192\""}, {"model.rope_theta", "5e5"}});
  EXPECT_TRUE(agree(model, given, {.torchtitan = true}).ok());
  EXPECT_FALSE(agree(model, given, {}).ok());
  model.norm_eps = 1e-6;
  EXPECT_FALSE(agree(model, given, {.torchtitan = true}).ok()) << "an import would take the flavour's";
}

TEST(ModelConfig, TyingIsNotComparedWithWhatIsWrittenUntied) {
  ModelConfig model = debugmodel();
  model.tied = true;
  for (const ckpt::Settings& given :
       {ckpt::Settings{{"model.tied_embeddings", "false"}}, ckpt::Settings{{"model.flavor", "'debugmodel'"}}}) {
    EXPECT_EQ(agree(model, given, {}).message, "x: model.tied_embeddings is true, the configuration says false");
    EXPECT_TRUE(agree(model, given, {.untie = true}).ok());
  }
}

TEST(ModelConfig, ListsParametersInModelOrder) {
  ModelConfig model = small();
  model.n_layers = 1;
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
}  // namespace titan::convert
