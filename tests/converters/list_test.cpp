// `ls` of runs of other trainers: a line for each step, whatever file of the run names the last.
#include "converters/list.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "converters/foreign_view.h"
#include "tests/support/files.h"
#include "tests/support/mem_fs.h"

namespace titan::convert::list_test {
namespace {

using ckpt::testing::MemFs;
using ::testing::ElementsAre;
using ::testing::Pair;

std::vector<std::pair<std::uint64_t, std::string>> listed(const std::map<std::string, std::string>& files) {
  MemFs fs;
  for (const auto& [path, text] : files) EXPECT_TRUE(ckpt::testing::put_text(fs, "/r/" + path, text).ok());
  const auto report = list_any(fs, "/r");
  EXPECT_TRUE(report.ok()) << report.status().to_string();
  std::vector<std::pair<std::uint64_t, std::string>> rows;
  for (std::size_t i = 0; report.ok() && i < report->steps.size(); ++i)
    rows.emplace_back(report->steps[i].step, report->steps[i].name);
  return rows;
}

TEST(ListedRuns, StepsOfDeepspeedAreListedEach) {
  const auto rows = listed({{"latest", "global_step7\r\n"},
                            {"config.json", "{}"},
                            {"global_step5/bf16_zero_pp_rank_0_mp_rank_00_optim_states.pt", "x"},
                            {"global_step7/bf16_zero_pp_rank_0_mp_rank_00_optim_states.pt", "x"}});
  EXPECT_THAT(rows, ElementsAre(Pair(7, "global_step7"), Pair(5, "global_step5")));
}

TEST(ListedRuns, VerifyChecksEachStepOfThem) {
  MemFs fs;
  for (const auto& [path, text] : {std::pair{"latest", "global_step7"},
                                   {"global_step5/bf16_zero_pp_rank_0_mp_rank_00_optim_states.pt", "x"},
                                   {"global_step7/bf16_zero_pp_rank_0_mp_rank_00_optim_states.pt", "x"}})
    ASSERT_TRUE(ckpt::testing::put_text(fs, std::string("/r/") + path, text).ok());
  const auto run = verify_any(fs, {.target = "/r"});
  ASSERT_TRUE(run.ok()) << run.status().to_string();
  EXPECT_TRUE(run->is_run);
  EXPECT_EQ(run->steps.size(), 2u);
  EXPECT_EQ(run->damage, 2u) << "an optimizer without a model is damage";
}

TEST(ListedRuns, StepsOfNanotronAreListedEach) {
  const std::map<std::string, std::string> steps{{"10/checkpoint_metadata.json", "{}"},
                                                 {"10/model/x", "x"},
                                                 {"20/checkpoint_metadata.json", "{}"},
                                                 {"20/model/x", "x"}};
  const auto expected = ElementsAre(Pair(20, "20"), Pair(10, "10"));
  EXPECT_THAT(listed(steps), expected);
  std::map<std::string, std::string> run = steps;
  run["latest.txt"] = "20\n";
  EXPECT_THAT(listed(run), expected);
}

TEST(ListedRuns, AModelIsListedWithTheStepsThatLedToIt) {
  const auto rows = listed({{"config.json", "{}"},
                            {"model.safetensors", "x"},
                            {"checkpoint-500/config.json", "{}"},
                            {"checkpoint-500/model.safetensors", "x"},
                            {"checkpoint-1000/config.json", "{}"},
                            {"checkpoint-1000/model.safetensors", "x"},
                            {"optimizer_0/.metadata", "x"},
                            {"optimizer_0/__0_0.distcp", "x"}});
  EXPECT_THAT(rows, ElementsAre(Pair(1000, "checkpoint-1000"), Pair(500, "checkpoint-500"), Pair(0, "")));
}

TEST(ListedRuns, LinksToStepsAndHalvesOfStepsAreListed) {
  MemFs fs;
  for (const char* path :
       {"/disk/checkpoint-500/config.json", "/disk/checkpoint-500/model.safetensors", "/r/checkpoint-1000/config.json",
        "/r/checkpoint-1000/model.safetensors", "/r/checkpoint-1500/optimizer.pt",
        "/r/checkpoint-1500/trainer_state.json", "/r/7/notes.txt"})
    ASSERT_TRUE(ckpt::testing::put_text(fs, path, "{}").ok());
  ASSERT_TRUE(fs.symlink("/disk/checkpoint-500", "/r/checkpoint-500").ok());
  ASSERT_TRUE(fs.symlink("/disk/checkpoint-500", "/r/best").ok());
  const auto report = list_any(fs, "/r");
  ASSERT_TRUE(report.ok()) << report.status().to_string();
  std::vector<std::string> names;
  for (const ckpt::ListedStep& step : report->steps) names.push_back(step.name);
  EXPECT_THAT(names, ElementsAre("checkpoint-1500", "checkpoint-1000", "checkpoint-500"));
  EXPECT_FALSE(report->steps[0].valid);
  EXPECT_EQ(report->steps[2].link, "/disk/checkpoint-500");
  EXPECT_THAT(report->steps[0].reason, ::testing::HasSubstr("no whole checkpoint"));
  EXPECT_EQ(resolve_any(fs, "/r@500"), "/r/checkpoint-500");
  EXPECT_NE(resolve_any(fs, "/r@latest"), "/r/checkpoint-1500");
}

TEST(ListedRuns, HalvesAloneAreNoRun) {
  MemFs fs;
  ASSERT_TRUE(ckpt::testing::put_text(fs, "/r/checkpoint-1500/optimizer.pt", "x").ok());
  EXPECT_EQ(list_any(fs, "/r").status().code, ckpt::Code::kNotFound);
}

}  // namespace
}  // namespace titan::convert::list_test
