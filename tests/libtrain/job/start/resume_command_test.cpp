#include "libtrain/job/start/resume_command.h"

#include <gtest/gtest.h>

#include "ckpt/plan/lr_settings.h"
#include "recipe/keys/config.h"
#include "tests/support/checkpoints.h"
#include "tests/support/mem_fs.h"

namespace titan::train::resume_command_test {
namespace {

using Words = std::vector<std::string>;

Words next(const Words& words, std::optional<std::uint64_t> step, std::optional<std::int64_t> stop_at = {}) {
  recipe::Config config;
  config.debug.stop_at_step = stop_at;
  return words_to_go_on(words, config, step);
}

TEST(ResumeCommand, WhatWouldBeWrongToRepeatIsLeftOut) {
  struct Case {
    Words typed, kept;
  };
  const Words plain = {
      "titan-train",        "run", "a.toml", "--nproc", "2", "--allow", "training.steps", "--init-from", "old@latest",
      "--metrics.log_freq", "5"};
  const auto with = [&plain](const Words& more) {
    Words words = plain;
    words.insert(words.end(), more.begin(), more.end());
    return words;
  };
  const Case cases[] = {
      {plain, plain},
      {with({"--resume", "never"}), plain},
      {with({"--resume=never"}), plain},
      {with({"--resume", "old@4"}), plain},
      {with({"--resume", "required"}), with({"--resume", "required"})},
      {with({"--resume=auto"}), with({"--resume=auto"})},
      {with({"--debug.stop_at_step=5"}), plain},
      {with({"--debug.stop-at-step", "5"}), plain},
      {with({"--set", "debug.stop_at_step=5"}), plain},
      {with({"--set=debug.stop_at_step=5"}), plain},
      {with({"--checkpoint.load_step=3", "--debug.seed=1"}), with({"--debug.seed=1"})},
      {with({"--set", "debug.seed=1"}), with({"--set", "debug.seed=1"})},
  };
  for (const Case& c : cases) EXPECT_EQ(next(c.typed, 5, 5), c.kept) << shell_line(c.typed);
}

TEST(ResumeCommand, AStopAheadAndAStartWithoutAStepStayAsTheyAre) {
  const Words words = {"titan-train", "run", "a.toml", "--resume", "never", "--debug.stop_at_step=9"};
  EXPECT_EQ(next(words, std::nullopt, 9), words);
  EXPECT_EQ(next(words, 5, 9), (Words{"titan-train", "run", "a.toml", "--debug.stop_at_step=9"}));
}

TEST(ResumeCommand, KeysThatALineSetsAnewAreLeftOut) {
  const Words keys = {"training.steps", "lr_scheduler.on_change"}, bare = {"titan-train", "run", "a.toml"};
  const auto with = [&bare](const Words& more) {
    Words words = bare;
    words.insert(words.end(), more.begin(), more.end());
    return words;
  };
  struct Case {
    Words typed, kept;
  };
  const Case cases[] = {
      {with({"--training.steps=8", "--allow", "training.steps", "--lr_scheduler.on_change=rewarm"}), bare},
      {with({"--training.steps", "8", "--allow=training.steps"}), bare},
      {with({"--set", "training.steps=8", "--set=lr_scheduler.on_change=keep"}), bare},
      {with({"--allow", "optimizer.lr,training.steps", "--optimizer.lr=1"}),
       with({"--allow", "optimizer.lr", "--optimizer.lr=1"})},
      {with({"--nproc", "2", "--allow"}), with({"--nproc", "2", "--allow"})},
  };
  for (const Case& c : cases) EXPECT_EQ(words_without_keys(c.typed, keys), c.kept) << shell_line(c.typed);
}

TEST(ResumeCommand, TheLineIsForAShell) {
  EXPECT_EQ(shell_line({"titan-train", "run", "my run.toml", "--a.b=it's", "", "$HOME"}),
            "titan-train run 'my run.toml' '--a.b=it'\\''s' '' '$HOME'");
}

TEST(ResumeCommand, TheLastLineSaysWhatIsSavedAndWhatToType) {
  EXPECT_EQ(go_on_line(75, 242, true, "command", "x"), "exit 75: saved; the same command continues from step 242: x");
  EXPECT_EQ(go_on_line(75, 242, false, "command", "x"), "exit 75: saved; continue from step 242: x");
  EXPECT_EQ(go_on_line(75, std::nullopt, true, "command", "x"),
            "exit 75: no step is saved; the same command starts anew: x");
  EXPECT_EQ(go_on_line(130, {}, true, "command", "x"), "exit 130: no step is saved; the same command starts anew: x");
  EXPECT_EQ(go_on_line(3, 7, true, "job", ""), "exit 3: the same job continues from step 7");
  EXPECT_EQ(go_on_line(0, 7, false, "command", "x"), "continue from step 7: x");
}

TEST(ResumeCommand, WhereTheDataHaveEndedTheSameCommandIsNotGiven) {
  EXPECT_TRUE(
      data_end_line(75, 18, "web")
          .starts_with("exit 75: saved; the data end after step 18, 'web' has given all of its epochs; to continue"));
  ckpt::testing::MemFs fs;
  recipe::Config config;
  config.job.dump_folder = "/run";
  EXPECT_EQ(set_without_samples(fs, config), "");
  config.training.datasets = {"path=web", "path=code"};
  EXPECT_EQ(set_without_samples(fs, config), "") << "no step";
  const std::uint64_t half = std::uint64_t{1} << 31;
  for (const auto& [samples, over] : {std::pair{std::uint64_t{36}, true}, {std::uint64_t{35}, false}}) {
    ckpt::Snapshot snapshot = ckpt::testing::make_snapshot(ckpt::testing::small_model(), {1, 1, 1}, 64, samples);
    snapshot.train.accepted = ckpt::with_rows(snapshot.train.accepted, {{"training.global_batch_size", "4"}});
    snapshot.data = {.samples = samples, .seq_len = 4, .sample_stride = 4, .samples_per_epoch = 40, .kind = "tokens"};
    snapshot.data.files = {{"a", 5, ckpt::digest_of("a")}, {"b", 7, ckpt::digest_of("b")}};
    snapshot.data.sets = {{.name = "web", .share = half, .samples = 20, .most = 20, .stops = true, .files = 1},
                          {.name = "code", .share = half, .samples = 20, .files = 1}};
    ASSERT_TRUE(ckpt::testing::save(fs, "/run/checkpoint", snapshot, samples).ok());
    EXPECT_EQ(set_without_samples(fs, config), over ? "web" : "") << samples << ": the 20th of web is sample 38";
    ASSERT_TRUE(fs.remove_file("/run/checkpoint/step-000000" + std::to_string(samples) + "/manifest.json").ok());
  }
}

TEST(ResumeCommand, TheStepIsTheOneThatAResumeTakes) {
  ckpt::testing::MemFs fs;
  recipe::Config config;
  config.job.dump_folder = "/run";
  EXPECT_EQ(step_to_go_on(fs, config), std::nullopt);
  for (const std::uint64_t step : {10, 20}) {
    const ckpt::Snapshot snapshot = ckpt::testing::make_snapshot(ckpt::testing::small_model(), {1, 1, 1}, 64, step);
    ASSERT_TRUE(ckpt::testing::save(fs, "/run/checkpoint", snapshot, step).ok());
  }
  EXPECT_EQ(step_to_go_on(fs, config), 20u);
  ASSERT_TRUE(fs.remove_file("/run/checkpoint/step-00000020/manifest.json").ok());
  EXPECT_EQ(step_to_go_on(fs, config), 10u);
}

}  // namespace
}  // namespace titan::train::resume_command_test
