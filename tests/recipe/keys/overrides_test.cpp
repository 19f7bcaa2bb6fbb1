#include "recipe/keys/overrides.h"

#include <gmock/gmock.h>

#include "tests/recipe/support/config_support.h"

namespace titan::recipe::overrides_test {
namespace {

using Flags = std::vector<std::string>;

TEST(Overrides, TakeAllFormsOfAFlag) {
  const LoadedConfig loaded = load_ok(
      "", {"--training.steps=20", "--training.seq_len", "64", "--set", "optimizer.lr=3e-4", "--set=debug.seed=5",
           "--model.n-layers=3", "--lr-scheduler.min-lr-factor", "0.5", "--checkpoint.no_enable", "--validation.enable",
           "--training.no-shuffle", "--training.global_batch_size", "-1", "--job.print_config", "true"});
  const Config& c = loaded.config;
  EXPECT_EQ(c.training.steps, 20);
  EXPECT_EQ(c.training.seq_len, 64);
  EXPECT_EQ(c.optimizer.lr, 3e-4);
  EXPECT_EQ(c.debug.seed, 5);
  EXPECT_EQ(c.model.n_layers, 3);
  EXPECT_EQ(c.lr_scheduler.min_lr_factor, 0.5);
  EXPECT_FALSE(c.checkpoint.enable);
  EXPECT_TRUE(c.validation.enable);
  EXPECT_FALSE(c.training.shuffle);
  EXPECT_TRUE(c.job.print_config);
  EXPECT_EQ(loaded.origins.at("debug.seed").text(), "flag --set debug.seed");
}

TEST(Overrides, FlagBeatsSetBeatsFileAndTheLastFlagWins) {
  EXPECT_EQ(load_ok("training.steps = 1", {"--training.steps=2", "--set", "training.steps=3"}).config.training.steps,
            2);
  EXPECT_EQ(load_ok("training.steps = 1", {"--set", "training.steps=3"}).config.training.steps, 3);
  EXPECT_EQ(load_ok("training.steps = 1", {"--training.steps=2", "--training.steps=4"}).config.training.steps, 4);
  EXPECT_EQ(load_ok("debug.seed = 1", {"--training.seed=2"}).config.debug.seed, 2);
}

TEST(Overrides, TextKeysTakeTheTextAsItIs) {
  struct Case {
    const char* typed;
    const char* read;
  };
  for (const Case& c : {Case{"runs/a", "runs/a"},
                        {"07", "07"},
                        {"2026", "2026"},
                        {"true", "true"},
                        {"\"quoted\"", "quoted"},
                        {"2026-01-02", "2026-01-02"},
                        {"[1,2]", "[1,2]"},
                        {"a=b", "a=b"},
                        {"a b # c", "a b # c"},
                        {"", ""}})
    EXPECT_EQ(load_ok("", {std::string("--job.description=") + c.typed}).config.job.description, c.read);
}

TEST(Overrides, RefuseValuesThatOnlyLookRight) {
  struct Case {
    Flags flags;
    const char* message;
  };
  const Case cases[] = {
      {{"--training.steps=07"}, "flag --training.steps: expected an integer of at least 1, found the string \"07\""},
      {{"--checkpoint.enable=True"}, "flag --checkpoint.enable: expected a boolean, found the string \"True\""},
      {{"--training.steps=3\noptimizer.lr=1"},
       "flag --training.steps: expected an integer of at least 1, found the string \"3\\noptimizer.lr=1\""},
      {{"--training.steps=3\n[optimizer]\nlr=1"},
       "flag --training.steps: expected an integer of at least 1, found the string \"3\\n[optimizer]\\nlr=1\""},
      {{"--training.steps="}, "flag --training.steps: expected an integer of at least 1, found the string \"\""},
      {{"--training.steps=9223372036854775808"},
       "flag --training.steps: expected an integer of at least 1, found the string \"9223372036854775808\""},
      {{"--training.steps"}, "flag --training.steps needs a value: expected an integer of at least 1"},
      {{"--training.steps", "--debug.seed=1"},
       "flag --training.steps needs a value: expected an integer of at least 1"},
      {{"--training.step=4"}, "flag --training.step: unknown key 'training.step' (did you mean 'training.steps'?)"},
      {{"--set", "training.step=4"},
       "flag --set training.step: unknown key 'training.step' (did you mean 'training.steps'?)"},
      {{"--set"}, "--set needs section.key=value"},
      {{"--set", "training.steps"}, "--set training.steps: expected section.key=value"},
      {{"stray"}, "unexpected argument \"stray\"; keys are set with --section.key=value"},
      {{"--"}, "unexpected argument \"--\"; keys are set with --section.key=value"},
      {{"--checkpoint.no_enable=true"}, "flag --checkpoint.no_enable takes no value (write --checkpoint.enable=true)"},
      {{"--checkpoint.no_interval"}, "flag --checkpoint.no_interval: unknown key 'checkpoint.no_interval'"},
      {{"--compile.enable"}, "flag --compile.enable: not supported yet: compile.enable = true"},
      {{"--parallelism.tensor_parallel_degree", "2"},
       "flag --parallelism.tensor_parallel_degree: not supported yet: parallelism.tensor_parallel_degree = 2"},
      {{"--job.description=\xff"}, "an argument is not valid UTF-8: \"--job.description\""},
      {{"--job.description", "\xff"}, "the value of --job.description is not valid UTF-8"},
  };
  for (const Case& c : cases) EXPECT_EQ(load_error("", c.flags).message, c.message) << c.flags[0];
}

TEST(Overrides, HarmlessFlagsOfTorchtitanPass) {
  load_ok("", {"--compile.no_enable", "--compile.enable=false", "--parallelism.tensor_parallel_degree", "1",
               "--activation_checkpoint.mode=none", "--checkpoint.exclude_from_loading="});
}

TEST(Overrides, AFlagThatFollowsABooleanIsNotItsValue) {
  const LoadedConfig loaded = load_ok("", {"--validation.enable", "--training.steps", "7"});
  EXPECT_TRUE(loaded.config.validation.enable);
  EXPECT_EQ(loaded.config.training.steps, 7);
  EXPECT_EQ(load_error("", {"--validation.enable", "7"}).message,
            "unexpected argument \"7\"; keys are set with --section.key=value");
}

}  // namespace
}  // namespace titan::recipe::overrides_test
