#include "recipe/plan/given_stages.h"

#include <gmock/gmock.h>

#include "tests/recipe/support/config_support.h"

namespace titan::recipe::given_stages_test {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

Config::Parallelism keys_of(const std::string& text) { return load_ok("[parallelism]\n" + text).config.parallelism; }

TEST(WrittenStages, AsMegatronWritesThem) {
  const auto layers = [](const std::string& layout, std::uint32_t count) {
    return (*written_stages(keys_of("pipeline_parallel_layout = \"" + layout + "\""), count))->layers;
  };
  EXPECT_THAT(layers("Et*3|t*4|tL", 8), ElementsAre(3, 4, 1));
  EXPECT_THAT(layers("E|(tt|)*2,tL", 5), ElementsAre(0, 2, 2, 1));
  EXPECT_THAT(layers("Et|t|L", 2), ElementsAre(1, 1, 0));
  EXPECT_FALSE(*written_stages({}, 4));
}

TEST(WrittenStages, AsTorchtitanWritesThem) {
  const auto keys = keys_of(
      "module_fqns_per_model_part = [[\"tok_embeddings\", \"layers.0\"], [\"layers.1\", \"layers.2\"], "
      "[\"norm\", \"output\"]]");
  const auto given = *written_stages(keys, 3);
  EXPECT_EQ(given->key, "parallelism.module_fqns_per_model_part");
  EXPECT_THAT(given->layers, ElementsAre(1, 2, 0));
}

TEST(WrittenStages, RefusesStagesThatCannotBe) {
  for (const auto& [text, says] :
       {std::pair{R"(pipeline_parallel_layout = "Et||tL")", "stage 1 is empty"},
        {R"(pipeline_parallel_layout = "Et|tL|")", "L must come last"},
        {R"(pipeline_parallel_layout = "Et|ttL")", "it has 3 layers, the model has 2"},
        {R"(module_fqns_per_model_part = [["tok_embeddings", "layers.0"], ["layer.1", "norm", "output"]])",
         "stage 1 has \"layer.1\"; the model's modules are tok_embeddings, layers.0 to layers.1, norm and output"},
        {R"(module_fqns_per_model_part = [["tok_embeddings", "layers.0"], [], ["layers.1", "norm", "output"]])",
         "stage 1 is empty"},
        {R"(module_fqns_per_model_part = [["tok_embeddings", "layers.0"], ["layers.0", "norm", "output"]])",
         "layers.0 is on stage 0 and on stage 1"},
        {R"(module_fqns_per_model_part = [["tok_embeddings", "layers.0"], ["norm", "output"]])",
         "layers.1 is on no stage"},
        {R"(module_fqns_per_model_part = [["tok_embeddings", "layers.1"], ["layers.0", "norm", "output"]])",
         "layers.1 is on stage 0, before layers.0 on stage 1"},
        {R"(module_fqns_per_model_part = [["tok_embeddings", "layers.0", "norm"], ["layers.1", "output"]])",
         "norm is on stage 0; it must be on the last, 1"},
        {R"(module_fqns_per_model_part = [["layers.0"], ["tok_embeddings", "layers.1", "norm", "output"]])",
         "tok_embeddings is on stage 1; it must be on stage 0"},
        {"pipeline_parallel_layout = \"Et|tL\"\npipeline_parallel_last_stage_less_layers = 1",
         "parallelism.pipeline_parallel_layout and parallelism.pipeline_parallel_last_stage_less_layers both say"}}) {
    const auto given = written_stages(keys_of(text), 2);
    ASSERT_FALSE(given.ok()) << text;
    EXPECT_EQ(given.status().code, ckpt::Code::kInvalid);
    EXPECT_THAT(given.status().message, HasSubstr(says));
  }
}

TEST(WeightedStages, AreTorchtitans) {
  Config::Parallelism keys;
  keys.pipeline_parallel_first_stage_less_layers = 1;
  EXPECT_THAT(weighted_stages(keys, 32, 8)->layers, ElementsAre(4, 5, 4, 4, 4, 4, 4, 3));
  keys.pipeline_parallel_first_stage_less_layers = 0;
  keys.pipeline_parallel_last_stage_less_layers = 2;
  EXPECT_THAT(weighted_stages(keys, 6, 4)->layers, ElementsAre(2, 2, 2, 0));
  keys.pipeline_parallel_last_stage_less_layers = 3;
  EXPECT_THAT(weighted_stages(keys, 6, 4).status().message, HasSubstr("3 is more than a stage's share of 2"));
  EXPECT_THAT(weighted_stages(keys, 2, 8).status().message, HasSubstr("do not fill 8 stages"));
}

}  // namespace
}  // namespace titan::recipe::given_stages_test
