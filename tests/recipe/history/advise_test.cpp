#include "recipe/history/advise.h"

#include <gmock/gmock.h>

#include "ckpt/base/fs_posix.h"
#include "tests/support/scratch_dir.h"

namespace titan::recipe::advise_test {
namespace {

using testing::Contains;
using testing::HasSubstr;

std::string line(const std::string& rest) { return "{\"schema\":\"titan.metrics/1\"," + rest + "}\n"; }

TEST(Advise, FromTheRecordsOfARun) {
  train::ScratchDir dir;
  std::string text = line(R"("step":0,"attempt":1,"event":"start","dp":2,"pp":1)");
  for (int i = 1; i < 20; ++i) text += line("\"step\":" + std::to_string(i) + R"(,"attempt":1,"loss":1,"time_s":2)");
  text += line(R"("step":19,"attempt":1,"event":"save_commit","bytes":4000000000,"seconds":8)");
  dir.write("run/metrics.jsonl", text);
  dir.write("run/config.toml", "[checkpoint]\ninterval = 10\nkeep_latest_k = 3\n");
  const auto report = advise_run(ckpt::posix_fs(), {dir / "run", 3600, 20'000'000'000});
  ASSERT_TRUE(report.ok()) << report.status().to_string();
  EXPECT_EQ(report->cost_s, 8);
  EXPECT_EQ(report->now->steps, 10u);
  EXPECT_EQ(report->now->seconds, 20);
  EXPECT_EQ(report->best->steps, steps_of(best_interval(8, 3600), 2));
  EXPECT_LT(report->best->lost.sum(), report->now->lost.sum());
  EXPECT_EQ(report->one_save, 4'000'000'000u);
  EXPECT_EQ(report->needed, 16'000'000'000u);
  EXPECT_EQ(report->fit->keep_last, 4u);
  EXPECT_TRUE(report->larger.empty());
  EXPECT_THAT(report->not_known, Contains(HasSubstr("how many parameters")));
  EXPECT_THAT(report->not_known, Contains(HasSubstr("there is one")));

  dir.write("run/config.toml", "[checkpoint]\ninterval = \"10min\"\n");
  EXPECT_EQ(advise_run(ckpt::posix_fs(), {dir / "run", 3600, {}})->now->steps, 300u);
  dir.write("run/config.toml", "[checkpoint]\ninterval = \"auto\"\n");
  const auto decides = advise_run(ckpt::posix_fs(), {dir / "run", 3600, {}});
  EXPECT_FALSE(decides->now);
  EXPECT_THAT(decides->not_known, Contains(HasSubstr("how often the run saves now: checkpoint.interval = \"auto\"")));
}

TEST(Advise, WhatIsNotThereIsSaid) {
  train::ScratchDir dir;
  dir.write("run/metrics.jsonl", "");
  const auto report = advise_run(ckpt::posix_fs(), {dir / "run", 3600, 1000});
  ASSERT_TRUE(report.ok());
  EXPECT_FALSE(report->best || report->now || report->one_save || report->fit);
  for (const char* lacking :
       {"config.toml", "what a save costs", "how long a step takes", "the size of a step", "larger model"})
    EXPECT_THAT(report->not_known, Contains(HasSubstr(lacking)));
  EXPECT_EQ(advise_run(ckpt::posix_fs(), {dir / "none"}).status().code, ckpt::Code::kNotFound);
}

}  // namespace
}  // namespace titan::recipe::advise_test
