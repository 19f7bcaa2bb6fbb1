#include "converters/file_names.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace titan::convert::file_names_test {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

TEST(FileNames, TakesKeysOfAnOptimizersStateApart) {
  for (const char* before : {"optimizer.state.", "state.", "app.optimizer.state.", "optimizer_0.state."}) {
    const std::string name = std::string(before) + "layers.0.wq.weight.exp_avg_sq";
    const auto key = split_state_key(name);
    ASSERT_TRUE(key) << name;
    EXPECT_EQ(key->before, before);
    EXPECT_EQ(key->parameter, "layers.0.wq.weight");
    EXPECT_EQ(key->field, "exp_avg_sq");
  }
  EXPECT_EQ(split_state_key("optimizer.state.norm.weight.max_exp_avg_sq")->field, "max_exp_avg_sq");
  for (const char* other : {"model.state.weight", "estate.x.exp_avg", "state", "optimizer.state.x", "layers.0.exp_avg"})
    EXPECT_FALSE(split_state_key(other)) << other;
}

TEST(FileNames, WrappersGoWhereverTheyStand) {
  EXPECT_EQ(without_wrappers("module._orig_mod.layers.0._fsdp_wrapped_module.wq.weight"), "layers.0.wq.weight");
  EXPECT_EQ(without_wrappers("layers.0._checkpoint_wrapped_module.wq"), "layers.0.wq");
  EXPECT_EQ(without_wrappers("my_module.modules.x"), "my_module.modules.x") << "segments, not parts of them";
}

TEST(FileNames, RulesActOnTheNamesInTheFileAndThenWrappersGo) {
  ImportOptions options{.skip = {"ema.*"}};
  options.rules.skip = {"*.extra"};
  options.rules.rename = {{"_orig_mod.old.*", "new.*"}};
  const Result<FileNames> found = file_names(
      "/f", {"ema.x", "a.extra", "_orig_mod.old.w", "_orig_mod.b", "state._orig_mod.old.w.exp_avg"}, options);
  ASSERT_TRUE(found.ok()) << found.status().to_string();
  EXPECT_THAT(found->skipped, ElementsAre(true, true, false, false, false));
  EXPECT_THAT(found->names, ElementsAre("ema.x", "a.extra", "new.w", "b", "state.new.w.exp_avg"));
  EXPECT_THAT(found->notes, ElementsAre("the wrapper's `_orig_mod.` is taken off 1 name"));
}

TEST(FileNames, TheStateOfAnOptimizerIsLeftOutWhateverItsPrefix) {
  const std::vector<std::string> file = {"model.w", "app.optimizer.state.w.exp_avg", "state.w.step",
                                         "optimizer.state.w.x"};
  for (const char* glob : {"optimizer.*", "optimizer.state.w.*"})
    EXPECT_THAT(file_names("/f", file, {.skip = {glob}})->skipped, ElementsAre(false, true, true, true)) << glob;
  EXPECT_THAT(file_names("/f", file, {.skip = {"app.*"}})->skipped, ElementsAre(false, true, false, false));
}

TEST(FileNames, AStateFollowsTheRuleOfItsWeight) {
  ImportOptions options;
  options.rules.rename = {{"model.a.w", "model.b.w"}, {"model.b.w", "model.a.w"}, {"model.c.w", "ours"}};
  const std::vector<std::string> file = {"model.a.w",         "model.b.w",         "model.c.w",
                                         "state.a.w.exp_avg", "state.b.w.exp_avg", "state.c.w.step"};
  const Result<FileNames> found = file_names("/f", file, options);
  ASSERT_TRUE(found.ok()) << found.status().to_string();
  EXPECT_THAT(found->names, ElementsAre("model.b.w", "model.a.w", "ours", "state.b.w.exp_avg", "state.a.w.exp_avg",
                                        "state.ours.step"));
  options.rules.rename = {{"a.w", "b.w"}};
  EXPECT_THAT(file_names("/f", file, options).status().causes, ElementsAre("rule rename \"a.w\" matches nothing"))
      << "the state alone";
  options.rules.rename = {{"state.*.w.exp_avg", "state.*.v.exp_avg"}};
  EXPECT_EQ(file_names("/f", file, options)->names[3], "state.a.v.exp_avg") << "by its own name it is meant";
}

// Without the adapters the base is another model than the one that was trained: leaving them out is not enough.
TEST(FileNames, AnAdapterThatIsNotMergedIsRefused) {
  const std::vector<std::string> names = {"m.q_proj.base_layer.weight", "m.q_proj.lora_A.default.weight", "m.norm"};
  ImportOptions options;
  for (const std::vector<std::string>& skip : {std::vector<std::string>{}, {"*.lora_A.*"}}) {
    options.skip = skip;
    const Status refused = file_names("/f", names, options).status();
    EXPECT_EQ(refused.code, ckpt::Code::kUnsupported);
    EXPECT_THAT(refused.message, HasSubstr("'m.q_proj.base_layer.weight'"));
    EXPECT_THAT(refused.hint, HasSubstr("merge_and_unload()"));
  }
  options.rules.rename = {{"m.q_proj.base_layer.weight", "m.q_proj.weight"}};
  EXPECT_TRUE(file_names("/f", names, options).ok()) << "who says so takes the base";
  ImportOptions look{.look = true};
  EXPECT_TRUE(file_names("/f", names, look).ok());
  look.config.emplace();  // to take the weights
  EXPECT_FALSE(file_names("/f", names, look).ok());
}

TEST(FileNames, NamesRulesThatMatchNothing) {
  EXPECT_THAT(file_names("/f", {"a"}, {.skip = {"b"}}).status().message,
              HasSubstr("--skip 'b' matches no tensor of /f"));
  ImportOptions options;
  options.rules.rename = {{"b", "c"}};
  EXPECT_THAT(file_names("/f", {"a"}, options).status().causes, ElementsAre("rule rename \"b\" matches nothing"));
}

}  // namespace
}  // namespace titan::convert::file_names_test
