// The metadata of a GGUF file as the dimensions of a model, and the models that are refused by name.
#include "converters/gguf/gguf_model.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/converters/gguf/gguf_builder.h"
#include "tests/converters/hf/folder.h"
#include "tests/support/files.h"
#include "tests/support/mem_fs.h"

namespace titan::convert::gguf_model_test {
namespace {

using ckpt::Code;
using recipe::ModelDims;
using testing::f32_key;
using ::testing::HasSubstr;
using testing::number;
using testing::text;
using testing::text_key;
using testing::u32_key;

GgufHeader header_of(const std::vector<std::string>& keys, const std::vector<std::string>& tensors = {}) {
  testing::GgufParts parts;
  parts.keys = keys;
  parts.tensors = tensors;
  parts.data.resize(1 << 16);
  ckpt::testing::MemFs fs;
  EXPECT_TRUE(ckpt::testing::put_text(fs, "/x", parts.file()).ok());
  const auto file = fs.open_read("/x");
  const auto header = read_gguf_header(**file, "x");
  EXPECT_TRUE(header.ok()) << header.status().to_string();
  return header.ok() ? *header : GgufHeader{};
}

const std::vector<std::string> kWhole{testing::tensor("token_embd.weight", {12, 17}, 0, 0),
                                      testing::tensor("output.weight", {12, 17}, 0, 1024)};

ckpt::Result<GgufModel> model_of(std::vector<std::string> keys, const std::vector<float>& rope = {}) {
  return read_gguf_model("x", header_of(keys, kWhole), rope);
}
std::vector<std::string> plus(const std::string& key, const char* architecture = "llama") {
  std::vector<std::string> keys = testing::model_keys(testing::tiny_model(), architecture);
  keys.push_back(key);
  return keys;
}

TEST(GgufModel, SaysWhatTheKeysSay) {
  const auto llama = model_of(testing::model_keys(testing::tiny_model(), "llama"));
  ASSERT_TRUE(llama.ok()) << llama.status().to_string();
  EXPECT_EQ(llama->dims, testing::tiny_model());
  EXPECT_TRUE(llama->interleaved_rows);
  EXPECT_FALSE(model_of(testing::model_keys(testing::tiny_model(), "qwen2"))->interleaved_rows);
}

TEST(GgufModel, TakesTyingBiasesAndWhatIsNotSaidFromTheTensors) {
  ModelDims model = testing::tiny_model();
  model.head_dim = 3;
  std::vector<std::string> keys = testing::model_keys(model, "qwen2");
  const auto without = [&](const std::string& key) {
    std::erase_if(keys, [&](const std::string& one) { return one.find(key) != std::string::npos; });
  };
  without("key_length");
  without("head_count_kv");
  without("freq_base");
  const auto read =
      read_gguf_model("x", header_of(keys, {kWhole[0], testing::tensor("blk.0.attn_q.bias", {12}, 0, 1024)}), {});
  // An odd head_dim is none of ours, and that is said of what was worked out.
  EXPECT_THAT(read.status().to_string(), HasSubstr("head_dim"));
  keys = testing::model_keys(testing::tiny_model(), "qwen2");
  without("freq_base");
  without("head_count_kv");
  const auto tied =
      read_gguf_model("x", header_of(keys, {kWhole[0], testing::tensor("blk.0.attn_q.bias", {12}, 0, 1024)}), {});
  ASSERT_TRUE(tied.ok()) << tied.status().to_string();
  EXPECT_TRUE(tied->dims.tied);
  EXPECT_TRUE(tied->dims.qkv_bias);
  EXPECT_EQ(tied->dims.n_kv_heads, 4);
  EXPECT_EQ(tied->dims.rope_theta, 10000);
  EXPECT_EQ(tied->dims.vocab_size, 17);
}

TEST(GgufModel, KnowsLlama3sTableAndOurOwn) {
  const ModelDims model = testing::tiny_model();
  for (const recipe::RopeScaling& scaling : {recipe::RopeScaling{8, 1, 4, 8192}, recipe::RopeScaling{32, 1, 4, 8192}}) {
    std::vector<float> table = rope_factors(model, scaling);
    for (float& factor : table) factor *= 1 + 1e-7f;
    EXPECT_EQ(model_of(testing::model_keys(model, "llama"), table)->dims.rope_scaling, scaling);
  }
  const recipe::RopeScaling own{4, 1, 4, 16};
  const std::vector<float> table = rope_factors(model, own);
  EXPECT_EQ(table, (std::vector<float>{table[0], 4, 4}));
  EXPECT_EQ(model_of(testing::model_keys(model, "llama"), table).status().code, Code::kUnsupported);
  const auto read = model_of(plus(text_key("titan.rope_scaling", "llama3:4:1:4:16")), table);
  ASSERT_TRUE(read.ok()) << read.status().to_string();
  EXPECT_EQ(read->dims.rope_scaling, own);
  EXPECT_THAT(model_of(plus(text_key("titan.rope_scaling", "llama3:2:1:4:16")), table).status().message,
              HasSubstr("is none that is known"));
  EXPECT_FALSE(model_of(testing::model_keys(model, "llama"), {1, 1}).ok());
}

TEST(GgufModel, RefusesOtherModelsByName) {
  const std::string list =
      text("llama.attention.head_count_kv") + number(9, 4) + number(4, 4) + number(1, 8) + number(2, 4);
  std::vector<std::string> layers = testing::model_keys(testing::tiny_model(), "llama");
  layers[6] = list;
  std::vector<std::string> lacking = testing::model_keys(testing::tiny_model(), "llama");
  lacking.erase(lacking.begin() + 1);
  std::vector<std::string> wrong_kind = testing::model_keys(testing::tiny_model(), "llama");
  wrong_kind[3] = f32_key("llama.embedding_length", 12);
  const std::vector<std::tuple<std::vector<std::string>, Code, const char*>> cases{
      {{u32_key("x", 1)}, Code::kIncompatible, "does not say its architecture"},
      {testing::model_keys(testing::tiny_model(), "gemma3"), Code::kUnsupported,
       "architecture 'gemma3', expected llama, qwen2 or qwen3"},
      {layers, Code::kUnsupported, "is a list"},
      {lacking, Code::kIncompatible, "'llama.block_count' is missing"},
      {wrong_kind, Code::kIncompatible, "'llama.embedding_length' is missing or not a whole number"},
      {plus(u32_key("llama.expert_count", 8)), Code::kUnsupported, "'llama.expert_count'"},
      {plus(u32_key("llama.attention.sliding_window", 4096)), Code::kUnsupported, "'llama.attention.sliding_window'"},
      {plus(u32_key("llama.attention.value_length", 8)), Code::kUnsupported, "'llama.attention.value_length'"},
      {plus(u32_key("llama.rope.dimension_count", 4)), Code::kUnsupported, "'llama.rope.dimension_count'"},
      {plus(text_key("llama.rope.scaling.type", "yarn")), Code::kUnsupported, "scaled in the way 'yarn'"},
      {plus(f32_key("llama.rope.scale_linear", 2)), Code::kUnsupported, "scaled in the way 'linear'"},
      {plus(f32_key("llama.logit_scale", 2)), Code::kUnsupported, "'llama.logit_scale'"},
      {plus(text("llama.attention.causal") + number(7, 4) + number(0, 1)), Code::kUnsupported,
       "'llama.attention.causal'"},
  };
  for (const auto& [keys, code, message] : cases) {
    const ckpt::Status status = model_of(keys).status();
    EXPECT_EQ(status.code, code) << message << ": " << status.message;
    EXPECT_THAT(status.message, HasSubstr(message));
  }
}

}  // namespace
}  // namespace titan::convert::gguf_model_test
