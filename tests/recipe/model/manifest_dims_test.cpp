#include "recipe/model/manifest_dims.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "ckpt/plan/lr_settings.h"
#include "recipe/keys/writer.h"
#include "recipe/plan/run_plan.h"
#include "tests/recipe/support/config_support.h"

namespace titan::recipe::manifest_dims_test {
namespace {

using ckpt::Code;

ckpt::Settings settings_of(const std::vector<std::string>& flags) {
  const Config config = load_ok("", flags).config;
  const auto plan = make_run_plan(config, 1);
  EXPECT_TRUE(plan.ok()) << plan.status().to_string();
  return resolved_settings(resolved_config(config, *plan));
}

TEST(StoredDims, AreThoseOfTheRunThatWroteThem) {
  for (const std::vector<std::string>& flags :
       {std::vector<std::string>{},
        {"--model.flavor=8B"},
        {"--model.dim=100", "--model.n_heads=4", "--model.head_dim=14", "--model.tied_embeddings"},
        {"--model.qkv_bias", "--model.rope_scaling=llama3:8.0:1.0:4.0:8192", "--model.norm_eps=1e-6"},
        {"--model.qk_norm", "--model.whole_qk_norm", "--model.post_norm", "--model.sliding_window=64"},
        {"--model.sliding_window=64", "--model.sliding_window_layers=0, 2-3"},
        {"--model.n_experts=4", "--model.experts_per_token=2", "--model.route_norm"}}) {
    const auto dims = stored_dims(settings_of(flags), "run/step");
    ASSERT_TRUE(dims.ok()) << dims.status().to_string();
    EXPECT_EQ(*dims, *model_dims(load_ok("", flags).config));
  }
}

TEST(StoredDims, OldCheckpointsHaveNeitherBiasesNorScaling) {
  ckpt::Settings settings = settings_of({});
  std::erase_if(settings,
                [](const auto& row) { return row.first == "model.qkv_bias" || row.first == "model.rope_scaling"; });
  EXPECT_EQ(*stored_dims(settings, "x"), *model_dims(Config{}));
}

TEST(StoredDims, NamesWhatIsMissing) {
  ckpt::Settings settings = settings_of({});
  std::erase_if(settings,
                [](const auto& row) { return row.first == "model.n_heads" || row.first == "model.rope_theta"; });
  const Status status = stored_dims(settings, "some/step").status();
  EXPECT_EQ(status.code, ckpt::Code::kIncompatible);
  EXPECT_EQ(status.message,
            "some/step does not say what model it holds: its configuration has no model.n_heads, model.rope_theta");
}

TEST(StoredDims, RefusesRowsThatCannotBe) {
  for (const auto& [key, text] : ckpt::Settings{{"model.dim", "-3"},
                                                {"model.dim", "\"wide\""},
                                                {"model.rope_scaling", "\"llama3:1\""},
                                                {"model.n_kv_heads", "5"},
                                                {"model.sliding_window", "-1"},
                                                {"model.sliding_window", "0"},
                                                {"model.sliding_window_layers", "\"9\""},
                                                {"model.experts_per_token", "5"}}) {
    ckpt::Settings settings =
        settings_of({"--model.rope_scaling=llama3:8:1:4:8192", "--model.sliding_window=9",
                     "--model.sliding_window_layers=1", "--model.n_experts=4", "--model.experts_per_token=1"});
    for (auto& row : settings)
      if (row.first == key) row.second = text;
    EXPECT_EQ(stored_dims(settings, "x").status().code, ckpt::Code::kIncompatible) << key << " = " << text;
  }
}

ModelDims small() {
  ModelDims model;
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

TEST(ModelRows, SettingsReadBackAsTheSameModel) {
  ModelDims model = small();
  for (int variant = 0; variant < 8; ++variant) {
    model.tied = (variant & 1) != 0;
    model.qkv_bias = (variant & 2) != 0;
    model.rope_scaling.reset();
    if ((variant & 4) != 0) model.rope_scaling = RopeScaling{32, 1, 4, 8192};
    const ckpt::Settings settings = model_rows(model);
    EXPECT_TRUE(std::is_sorted(settings.begin(), settings.end()));
    const auto again = dims_from_rows("x", settings);
    ASSERT_TRUE(again.ok()) << again.status().to_string();
    EXPECT_EQ(*again, model);
  }
}

TEST(ModelRows, WritesScalingAsOneTextOfShortestNumbers) {
  ModelDims model = small();
  model.rope_scaling = RopeScaling{8, 1, 4, 8192};
  const ckpt::Settings settings = model_rows(model);
  EXPECT_EQ(std::ranges::find(settings, std::string("model.rope_scaling"), &ckpt::Settings::value_type::first)->second,
            "\"llama3:8:1:4:8192\"");
}

TEST(ModelRows, TakesWhatIsNotSetAsAbsentAndNoScalingByName) {
  for (const char* scaling : {"not set", "\"none\""}) {
    const auto back = dims_from_rows(
        "run", ckpt::with_rows(model_rows(small()), {{"model.qkv_bias", "not set"}, {"model.rope_scaling", scaling}}));
    ASSERT_TRUE(back.ok()) << back.status().to_string();
    EXPECT_EQ(*back, small());
  }
  EXPECT_FALSE(dims_from_rows("run", ckpt::with_rows(model_rows(small()), {{"model.dim", "not set"}})).ok());
}

// As titan-train takes it, and so what a configuration file need not say.
TEST(ModelRows, TheWidthOfAHeadIsDimOverHeadsWhereNobodySaysIt) {
  const auto back = dims_from_rows("run", ckpt::with_rows(model_rows(small()), {{"model.head_dim", "not set"}}));
  ASSERT_TRUE(back.ok()) << back.status().to_string();
  EXPECT_EQ(back->head_dim, 8u);
  EXPECT_FALSE(dims_from_rows(
                   "run", ckpt::with_rows(model_rows(small()), {{"model.head_dim", "not set"}, {"model.n_heads", "5"}}))
                   .ok());
}

TEST(ModelRows, NamesEveryRowThatIsMissing) {
  const auto model = dims_from_rows("run/step", {{"model.dim", "16"}, {"optimizer.lr", "0.001"}});
  ASSERT_FALSE(model.ok());
  EXPECT_EQ(model.status().code, Code::kIncompatible);
  EXPECT_EQ(model.status().message,
            "run/step does not say what its model is: model.n_layers, model.n_heads, model.n_kv_heads, model.ffn_dim, "
            "model.vocab_size, model.norm_eps, model.rope_theta missing");
}

TEST(ModelRows, RefusesRowsOfAnotherTypeAndModelsThatCannotBe) {
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
           {"model.rope_scaling", "\"ntk:8:1:4:64\"", "model.rope_scaling is \"ntk:8:1:4:64\""},
           {"model.rope_scaling", "\"llama3:8:1:4\"", "model.rope_scaling is \"llama3:8:1:4\""},
           {"model.rope_scaling", "\"llama3:8:1:4:64:1\"", "model.rope_scaling is"},
           {"model.rope_scaling", "\"llama3:8:4:4:64\"", "0 < low < high"},
       }) {
    ModelDims model = small();
    model.rope_scaling.emplace();
    ckpt::Settings settings = model_rows(model);
    std::ranges::find(settings, std::string(c.key), &ckpt::Settings::value_type::first)->second = c.value;
    const auto read = dims_from_rows("x", settings);
    ASSERT_FALSE(read.ok()) << c.key;
    EXPECT_EQ(read.status().code, Code::kIncompatible) << c.key;
    EXPECT_NE(read.status().message.find(c.message), std::string::npos) << read.status().message;
  }
}

TEST(ByteIds, AreThoseOfARunOnTextWithTheByteTokenizer) {
  EXPECT_TRUE(reads_bytes({{"model.tokenizer", "\"byte\""}, {"training.dataset", "\"text\""}}));
  EXPECT_FALSE(reads_bytes({{"model.tokenizer", "\"byte\""}, {"training.dataset", "\"tokens\""}}));
  EXPECT_FALSE(reads_bytes({{"model.tokenizer", "\"words.json\""}, {"training.dataset", "\"text\""}}));
}

TEST(ByteIds, AreNotGuessedWhereTheDataAreNotKnown) {
  EXPECT_FALSE(reads_bytes({}));
  EXPECT_FALSE(reads_bytes({{"model.tokenizer", "\"byte\""}}));
  EXPECT_FALSE(reads_bytes({{"model.vocab_size", "256"}}));
}

}  // namespace
}  // namespace titan::recipe::manifest_dims_test
