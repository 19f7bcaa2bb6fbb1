// model_config.json and checkpoint_metadata.json of nanotron.
#include "converters/nanotron/model_config.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace titan::convert::nanotron::model_config_test {
namespace {

using ckpt::Code;
using ::testing::HasSubstr;

std::string config_with(const std::string& more) {
  return R"({"is_llama_config": true, "hidden_size": 48, "intermediate_size": 80, "num_hidden_layers": 2,
             "num_attention_heads": 6, "num_key_value_heads": 2, "vocab_size": 101, "rms_norm_eps": 1e-05,
             "hidden_act": "silu", "rope_scaling": null, "use_cache": true)" +
         (more.empty() ? "" : ", " + more) + "}";
}
ckpt::Result<Model> read(const std::string& text) {
  const auto json = ckpt::parse_json("c", text);
  return json.ok() ? read_model_config("c", *json) : json.status();
}

TEST(NanotronModel, SaysDimensionsAndHowRowsLie) {
  const auto model =
      read(config_with(R"("rope_theta": 500000.0, "rope_interleaved": true, "tie_word_embeddings": true)"));
  ASSERT_TRUE(model.ok()) << model.status().to_string();
  EXPECT_EQ(model->dims.head_dim, 8);
  EXPECT_EQ(model->dims.n_kv_heads, 2);
  EXPECT_EQ(model->dims.rope_theta, 500000);
  EXPECT_EQ(model->dims.norm_eps, 1e-5);
  EXPECT_TRUE(model->dims.tied);
  EXPECT_FALSE(model->dims.qkv_bias);
  EXPECT_EQ(model->interleaved, true);
  EXPECT_EQ(read(config_with(""))->interleaved, std::nullopt);
}

TEST(NanotronModel, QwensProjectionsHaveBiases) {
  std::string text = config_with("");
  text.replace(text.find("is_llama_config"), 15, "is_qwen2_config");
  EXPECT_TRUE(read(text)->dims.qkv_bias);
}

TEST(NanotronModel, RefusesWhatItDoesNotKnow) {
  const std::vector<std::tuple<std::string, Code, const char*>> cases{
      {"[]", Code::kIncompatible, "no JSON object"},
      {R"({"is_starcoder2_config": true})", Code::kUnsupported, "of no model that is known"},
      {R"({"is_llama_config": true})", Code::kIncompatible, "'hidden_size' is missing"},
      {config_with(R"("moe_config": {"num_experts": 8})"), Code::kUnsupported, "'moe_config' is"},
      {config_with(R"("no_rope_layer": 4)"), Code::kUnsupported, "'no_rope_layer' is 4"},
      {config_with(R"("rope_interleaved": 1)"), Code::kIncompatible, "'rope_interleaved'"}};
  for (const auto& [text, code, message] : cases) {
    const ckpt::Status status = read(text).status();
    EXPECT_EQ(status.code, code) << text;
    EXPECT_THAT(status.message, HasSubstr(message));
  }
}

TEST(NanotronModel, MetadataOfVersions12To15IsRead) {
  const auto read = [](const std::string& text) { return read_metadata("m", *ckpt::parse_json("m", text)); };
  const auto position =
      read(R"({"version": "1.5", "tp": 2, "dp": 3, "metas": {"last_train_step": 7, "consumed_train_samples": 28}})");
  ASSERT_TRUE(position.ok());
  EXPECT_EQ(position->dp, 3u);
  EXPECT_EQ(position->step, 7u);
  EXPECT_EQ(position->samples, 28u);
  EXPECT_TRUE(read(R"({"version": "1.2"})").ok());
  for (const char* version : {"1.1", "1.6", "2.0", "1", "x"})
    EXPECT_EQ(read(std::string(R"({"version": ")") + version + "\"}").status().code, Code::kUnsupported) << version;
  EXPECT_EQ(read("{}").status().code, Code::kIncompatible);
  for (const char* count : {"\"x\"", "-1", "1e30", "2.5"}) {
    const auto status =
        read(std::string(R"({"version": "1.5", "metas": {"consumed_train_samples": )") + count + "}}").status();
    EXPECT_EQ(status.code, Code::kIncompatible) << count;
    EXPECT_THAT(status.message, HasSubstr("'consumed_train_samples' is not a whole number"));
  }
}

}  // namespace
}  // namespace titan::convert::nanotron::model_config_test
