#include "converters/hf/rope_settings.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "converters/hf/hf_config.h"
#include "recipe/model/rope_scaling.h"

namespace titan::convert::rope_settings_test {
namespace {

using ::testing::HasSubstr;

JsonValue json(const std::string& text) {
  const auto value = parse_json("config.json", text);
  EXPECT_TRUE(value.ok()) << text;
  return value.ok() ? *value : JsonValue();
}

struct Read {
  std::string scaling;
  ckpt::Status status;
};

Read read(const std::string& members) {
  const JsonValue config = json("{" + members + "}");
  Fields fields("config.json", config);
  recipe::ModelDims model;
  read_hf_rope(fields, 10000, model);
  return {model.rope_scaling ? rope_scaling_text(*model.rope_scaling) : "none", fields.status()};
}

TEST(HfRope, ReadsEachKindOfBothVersions) {
  const std::pair<const char*, const char*> cases[] = {
      {R"("rope_scaling": {"type": "linear", "factor": 4.0})", "linear:4"},
      {R"("rope_parameters": {"rope_type": "linear", "factor": 4, "rope_theta": 1e6})", "linear:4"},
      {R"("max_position_embeddings": 2048, "rope_scaling": {"rope_type": "dynamic", "factor": 2.0})", "dynamic:2:2048"},
      {R"("max_position_embeddings": 131072, "rope_scaling": {"type": "yarn", "factor": 4.0,
          "original_max_position_embeddings": 32768})",
       "yarn:4:32768:1.138629436111989:32:1:1"},
      {R"("max_position_embeddings": 64, "rope_scaling": {"rope_type": "yarn", "factor": 2.0, "attention_factor": 1.5,
          "beta_fast": 16, "beta_slow": 2, "truncate": false})",
       "yarn:2:64:1.5:16:2:0"},
      {R"("max_position_embeddings": 163840, "rope_scaling": {"type": "yarn", "factor": 40,
          "original_max_position_embeddings": 4096, "mscale": 1.0, "mscale_all_dim": 1.0})",
       "yarn:40:4096:1:32:1:1"},
      {R"("max_position_embeddings": 131072, "original_max_position_embeddings": 4096,
          "rope_scaling": {"type": "longrope", "short_factor": [1, 1.5], "long_factor": [2, 64.5]})",
       "longrope:32:4096:1.1902380714238083:1,1.5:2,64.5"},
      {R"("rope_scaling": null, "rope_theta": 1e6)", "none"},
  };
  for (const auto& [text, scaling] : cases) {
    const Read found = read(text);
    EXPECT_TRUE(found.status.ok()) << text << ": " << found.status.message;
    EXPECT_EQ(found.scaling, scaling);
  }
}

TEST(HfRope, RefusesWhatVersionsReadDifferently) {
  const std::pair<const char*, const char*> cases[] = {
      {R"("rope_scaling": {"type": "proportional", "factor": 4.0})", "frequencies are scaled as 'proportional'"},
      {R"("rope_scaling": {"type": "yarn", "factor": 4.0})", "'max_position_embeddings' is missing"},
      {R"("rope_scaling": {"type": "linear"})", "'factor' is missing"},
      {R"("max_position_embeddings": 64, "original_max_position_embeddings": 32, "rope_scaling": {"type": "longrope",
          "factor": 4.0, "short_factor": [1], "long_factor": [1]})",
       "has the factor 4.0, the two lengths make it 2.0, and versions of transformers differ"},
      {R"("max_position_embeddings": 64, "rope_scaling": {"type": "longrope", "short_factor": [1, "x"],
          "long_factor": [1, 2]})",
       "'short_factor' is not a list of numbers"},
      {R"("max_position_embeddings": 64, "original_max_position_embeddings": 16, "rope_scaling": {"type": "yarn",
          "factor": 4.0, "original_max_position_embeddings": 32})",
       "has two values of original_max_position_embeddings"},
  };
  for (const auto& [text, message] : cases) EXPECT_THAT(read(text).status.message, HasSubstr(message)) << text;
}

// Where the context is where scaling begins, an export does not move it.
TEST(HfRope, AnExportReadsBack) {
  for (const char* text : {"linear:4", "dynamic:2:64", "yarn:4:64", "yarn:4:64:1.5:16:2:0",
                           "longrope:4:64:1.25:1,1.5:2,64.5", "llama3:8:1:4:64"}) {
    recipe::ModelDims model{48, 2, 12, 2, 4, 80, 101};
    model.rope_scaling = *recipe::parse_rope_scaling(text);
    const JsonValue config = write_hf_config(model, {}, {.max_positions = 512, .trained_positions = 512});
    EXPECT_EQ(*read_hf_config("config.json", config), model) << config.write();
    JsonValue four = config, five = config;
    four.remove("rope_parameters");
    for (const char* key : {"rope_scaling", "rope_theta", "original_max_position_embeddings"}) five.remove(key);
    EXPECT_EQ(*read_hf_config("config.json", four), model) << text;
    EXPECT_EQ(*read_hf_config("config.json", five), model) << text;
    const JsonValue again = write_hf_config(model, four, {.trained_positions = 1024});
    EXPECT_EQ(*read_hf_config("config.json", again), model) << text;
  }
}

}  // namespace
}  // namespace titan::convert::rope_settings_test
