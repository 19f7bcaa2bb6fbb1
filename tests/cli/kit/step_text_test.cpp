#include "cli/kit/step_text.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace titan::cli::step_text_test {
namespace {

using ::testing::HasSubstr;

const Palette kPlain{false};

StepLook look(int ranks = 2) { return {50, 200, 2.6312, 9.4e-4, 1.518, 8512, ranks, 72.0}; }

TEST(StepText, FitsTheTerminalAndLosesTheLeastUsefulFirst) {
  EXPECT_EQ(step_text(look(), 120, kPlain),
            "step  50/200  loss  2.6312  lr 9.40e-4  norm  1.518  tok/s  8.5k ( 4.3k a rank)  eta 1m12s");
  EXPECT_EQ(step_text(look(), 80, kPlain),
            "step  50/200  loss  2.6312  lr 9.40e-4  tok/s  8.5k ( 4.3k a rank)  eta 1m12s");
  EXPECT_EQ(step_text(look(), 70, kPlain), "step  50/200  loss  2.6312  lr 9.40e-4  tok/s  8.5k  eta 1m12s");
  EXPECT_EQ(step_text(look(), 48, kPlain), "step  50/200  loss  2.6312  tok/s  8.5k");
  EXPECT_EQ(step_text(look(), 28, kPlain), "step  50/200  loss  2.6312");
  for (std::size_t width = 26; width < 130; ++width) EXPECT_LE(step_text(look(), width, kPlain).size(), width);
}

TEST(StepText, OneRankHasNoShareAndAnUnknownTimeNoColumn) {
  EXPECT_EQ(step_text(look(1), 80, kPlain),
            "step  50/200  loss  2.6312  lr 9.40e-4  norm  1.518  tok/s  8.5k  eta 1m12s");
  StepLook unknown = look(1);
  unknown.left.reset();
  EXPECT_EQ(step_text(unknown, 80, kPlain), "step  50/200  loss  2.6312  lr 9.40e-4  norm  1.518  tok/s  8.5k");
}

TEST(StepText, ColumnsStayWhereTheyAre) {
  StepLook late{200, 200, 11.5, 0, 0.02, 123, 2, 0.0};
  const std::string first = step_text(look(), 120, kPlain), last = step_text(late, 120, kPlain);
  for (const char* name : {"loss", "lr", "norm", "tok/s", "(", "eta"})
    EXPECT_EQ(first.find(name), last.find(name)) << last;
}

TEST(StepText, CountsAndRatesAreShort) {
  const std::pair<double, const char*> counts[] = {{0, "0"},        {12.4, "12"},     {999, "999"},
                                                   {999.6, "1.0k"}, {4249, "4.2k"},   {123456, "123k"},
                                                   {2.5e6, "2.5M"}, {1.2e12, "1200G"}};
  for (const auto& [value, text] : counts) EXPECT_EQ(short_count(value), text);
  EXPECT_EQ(short_rate(9.4e-4), "9.40e-4");
  EXPECT_EQ(short_rate(3e-12), "3.00e-12");
  EXPECT_EQ(short_rate(0), "0      ");
}

TEST(BarText, IsShorterThanTheTerminal) {
  EXPECT_EQ(bar_text(look(), 24.3, "", 80),
            "[24s]   25%  step  50/200  [=========>                             ]  eta 1m12s");
  EXPECT_EQ(bar_text(look(), 24.3, "saving step 50", 50), "[24s]   25%  step  50/200  saving step 50");
  for (std::size_t width = 5; width < 130; ++width) EXPECT_LT(bar_text(look(), 3700, "", width).size(), width);
}

TEST(SummaryText, SaysWhatWasDoneAndHowToGoOn) {
  RunSummary summary{1,
                     200,
                     200,
                     2.6312,
                     2.6104,
                     190,
                     204800,
                     72,
                     2.59,
                     200,
                     "run1/checkpoint/step-00000200",
                     "titan-train run my.toml --training.steps=400"};
  EXPECT_EQ(summary_text(summary, 80, kPlain),
            "done     200 steps in 1m12s, 204,800 tokens, 2.8k tok/s\n"
            "loss     2.6312 at step 200, best 2.6104 at step 190; validation 2.5900 at step\n"
            "         200\n"
            "newest   run1/checkpoint/step-00000200\n"
            "continue titan-train run my.toml --training.steps=400\n");
  summary = {51, 100, 200, 3, 2.9, 99, 51200, 10, {}, 0, "", ""};
  EXPECT_THAT(summary_text(summary, 80, kPlain),
              HasSubstr("stopped  at step 100 of 200, 50 made in 10s, 51,200 tokens"));
  EXPECT_THAT(summary_text(summary, 80, kPlain), HasSubstr("newest   nothing is saved\n"));
}

TEST(MessageText, BreaksBetweenWordsAndEscapes) {
  EXPECT_EQ(message_text("note:", Role::kWarning, "one two three four", 16, kPlain), "note: one two\n  three four\n");
  EXPECT_EQ(message_text("", Role::kPlain, "a\x1b[2J", 80, kPlain), "a\\x1b[2J\n");
  EXPECT_EQ(message_text("note:", Role::kWarning, "x", 80, {true}), "\x1b[33mnote:\x1b[0m x\n");
}

}  // namespace
}  // namespace titan::cli::step_text_test
