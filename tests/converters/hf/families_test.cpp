#include "converters/hf/families.h"

#include <gtest/gtest.h>

#include <fstream>
#include <iterator>
#include <string>

#include "converters/hf/hf_config.h"
#include "recipe/model/parameters.h"
#include "recipe/plan/stage_cost.h"

namespace titan::convert::families_test {
namespace {

using recipe::ModelDims;

TEST(Families, RefusesLinesThatAreNone) {
  EXPECT_TRUE(read_hf_families("# a comment\n\n").empty());
  for (const char* line : {"A", "A\ta\t0\t0", "A\ta\t0\t0\t1e-6\t1e4\t-\tbias", "A\ta\tx\t0\t1e-6\t1e4\t-\t-",
                           "\ta\t0\t0\t1e-6\t1e4\t-\t-", "A\ta\t0\t0\t1e-6\t1e4\tsome\t-", "A\ta\t0\t0\tx\t1e4\t-\t-",
                           "A\ta\t0\t0\t1e-6\t1e4\t-\t-\tmore"})
    EXPECT_THROW(read_hf_families(line), std::logic_error) << line;
}

// All that it takes is tests/converters/hf/third_family.tsv.
TEST(Families, AThirdOneIsAFileOfData) {
  std::ifstream file(std::string(TITAN_SOURCE_DIR) + "/tests/converters/hf/third_family.tsv");
  const std::string text{std::istreambuf_iterator<char>(file), {}};
  HfFamilies families = hf_families();
  const HfFamilies more = read_hf_families(text);
  ASSERT_EQ(more.size(), 1u);
  families.insert(families.end(), more.begin(), more.end());
  const auto json = parse_json("config.json", R"({"architectures": ["ThirdForCausalLM"], "model_type": "third",
    "hidden_size": 48, "num_hidden_layers": 2, "num_attention_heads": 6, "intermediate_size": 80, "vocab_size": 101,
    "rms_norm_eps": 1e-6, "rope_theta": 10000.0})");
  EXPECT_FALSE(read_hf_config("config.json", *json).ok());
  const auto model = read_hf_config("config.json", *json, families);
  ASSERT_TRUE(model.ok()) << model.status().to_string();
  EXPECT_EQ(*model, (ModelDims{48, 2, 6, 2, 10, 80, 101, 1e-6, 10000, false, true, true}));

  const JsonValue written = write_hf_config(*model, {}, {}, families);
  EXPECT_EQ(*written.find("model_type")->text(), "third");
  EXPECT_EQ(*read_hf_config("config.json", written, families), *model);
  // Parameters, names and costs follow.
  EXPECT_EQ(recipe::model_parameters(*model).size(), 3u + 2 * 14);
  std::uint64_t elements = 0;
  for (const ckpt::ParameterMeta& parameter : recipe::model_parameters(*model))
    elements += ckpt::element_count(parameter.shape);
  const auto costs = recipe::part_costs("params", *model, 128);
  EXPECT_EQ(costs->embedding + 2 * costs->layer + costs->head, elements);
  EXPECT_EQ(family_for(*model, hf_families()), nullptr);
}

TEST(Families, AModelIsWrittenAsTheFirstFamilyThatHasItsParts) {
  ModelDims model;
  EXPECT_EQ(family_for(model, hf_families())->model_type, "llama");
  model.qkv_bias = true;
  EXPECT_EQ(family_for(model, hf_families())->model_type, "qwen2");
  model.qkv_bias = false;
  model.qk_norm = true;
  EXPECT_EQ(family_for(model, hf_families())->model_type, "qwen3");
  model.n_layers = 2;
  model.window = {64, {{1, 1}}};
  EXPECT_EQ(family_for(model, hf_families())->model_type, "qwen3");
  model.experts = true;
  EXPECT_EQ(family_for(model, hf_families()), nullptr) << "Qwen3-MoE has a window in all layers";
  model.window.layers.clear();
  EXPECT_EQ(family_for(model, hf_families())->model_type, "qwen3_moe");
  model.qk_norm = false;
  EXPECT_EQ(family_for(model, hf_families()), nullptr) << "Mixtral norms the weights of experts";
  model.route_norm = true;
  EXPECT_EQ(family_for(model, hf_families())->model_type, "mixtral");
  model.experts = model.route_norm = false;
  EXPECT_EQ(family_for(model, hf_families())->model_type, "mistral");
  model.window = {};
  model.qk_norm = model.whole_qk_norm = model.post_norm = true;
  EXPECT_EQ(family_for(model, hf_families())->model_type, "olmo2");
}

}  // namespace
}  // namespace titan::convert::families_test
