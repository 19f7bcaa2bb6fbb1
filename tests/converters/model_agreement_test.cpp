#include "converters/model_agreement.h"

#include <gtest/gtest.h>

#include "ckpt/plan/lr_settings.h"
#include "recipe/model/manifest_dims.h"

namespace titan::convert::model_agreement_test {
namespace {

using ckpt::Code;

TEST(ModelAgreement, TakesFromAFlavourWhatIsNotGiven) {
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
                                                {"model.qk_norm", "false"},
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
  const ckpt::Settings qwen3 = rows({{"model.name", "\"qwen3\""}}, "\"0.6B\"");
  EXPECT_EQ(ckpt::setting(qwen3, "model.head_dim"), "128");
  EXPECT_EQ(ckpt::setting(qwen3, "model.qk_norm"), "true");
  EXPECT_EQ(ckpt::setting(qwen3, "model.tied_embeddings"), "true");
  EXPECT_TRUE(rows({}, "\"mine\"").empty());
  EXPECT_TRUE(flavor_rows({}).empty());
}

ckpt::Status agree(const ModelDims& model, const ckpt::Settings& given, const Comparison& how) {
  return agreed_rows("x", recipe::model_rows(model), ckpt::with_rows({}, given), how).status();
}

// debugmodel of torchtitan, scaled.
ModelDims debugmodel() {
  ModelDims model;
  model.dim = 256, model.n_layers = 6, model.n_heads = 16, model.n_kv_heads = 16, model.head_dim = 16,
  model.ffn_dim = 768, model.vocab_size = 2048;
  model.rope_scaling.emplace();
  return model;
}

TEST(ModelAgreement, TorchtitansFlavoursScaleRope) {
  const ckpt::Settings flavor{{"model.flavor", "\"debugmodel\""}};
  ModelDims model = debugmodel();
  EXPECT_TRUE(agree(model, flavor, {.torchtitan = true}).ok());
  EXPECT_EQ(ckpt::setting(recipe::model_rows(model), "model.rope_scaling"), "\"llama3:8:1:4:8192\"");
  model.rope_scaling.reset();
  EXPECT_TRUE(agree(model, flavor, {}).ok()) << "a checkpoint of ours keeps what it says";
  const ckpt::Status refused = agree(model, flavor, {.torchtitan = true});
  EXPECT_EQ(refused.code, Code::kIncompatible);
  EXPECT_EQ(refused.message, "x: model.rope_scaling is not set, the configuration says \"llama3:8:1:4:8192\"");
  EXPECT_TRUE(agree(model, ckpt::with_rows(flavor, {{"model.rope_scaling", "\"none\""}}), {.torchtitan = true}).ok());
}

TEST(ModelAgreement, AFlavourThatWasEditedInPlaceGoesForTorchtitan) {
  ModelDims model = debugmodel();
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

TEST(ModelAgreement, TyingIsNotComparedWithWhatIsWrittenUntied) {
  ModelDims model = debugmodel();
  model.tied = true;
  for (const ckpt::Settings& given :
       {ckpt::Settings{{"model.tied_embeddings", "false"}}, ckpt::Settings{{"model.flavor", "'debugmodel'"}}}) {
    EXPECT_EQ(agree(model, given, {}).message, "x: model.tied_embeddings is true, the configuration says false");
    EXPECT_TRUE(agree(model, given, {.untie = true}).ok());
  }
}

}  // namespace
}  // namespace titan::convert::model_agreement_test
