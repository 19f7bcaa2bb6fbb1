#include "recipe/model/stored_dims.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "recipe/keys/writer.h"
#include "tests/recipe/support/config_support.h"

namespace titan::recipe {
namespace {

using testing::HasSubstr;

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
        {"--model.qkv_bias", "--model.rope_scaling=llama3:8.0:1.0:4.0:8192", "--model.norm_eps=1e-6"}}) {
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
                                                {"model.n_kv_heads", "5"}}) {
    ckpt::Settings settings = settings_of({"--model.rope_scaling=llama3:8:1:4:8192"});
    for (auto& row : settings)
      if (row.first == key) row.second = text;
    EXPECT_EQ(stored_dims(settings, "x").status().code, ckpt::Code::kIncompatible) << key << " = " << text;
  }
}

TEST(WholeModelPlan, HoldsEveryParameterOnOneStage) {
  const ModelDims dims = *model_dims(Config{});
  const RunPlan plan = whole_model_plan(dims, 17);
  EXPECT_EQ(plan.parameters.size(), model_parameters(dims).size());
  for (const ckpt::ParameterMeta& p : plan.parameters) EXPECT_EQ(p.stage, 0u);
  EXPECT_EQ(plan.batch.seq_len, 17);
  EXPECT_FALSE(plan.bf16);
}

}  // namespace
}  // namespace titan::recipe
