#include "ckpt/ops/list_runs.h"

#include <gtest/gtest.h>

#include "tests/support/checkpoints.h"
#include "tests/support/files.h"
#include "tests/support/mem_fs.h"

namespace titan::ckpt::list_runs_test {
namespace {

using namespace titan::ckpt::testing;  // NOLINT: the file is about these

TEST(ListRuns, HasALineForEachRunWithItsLastLoss) {
  MemFs fs;
  for (const char* run : {"/runs/b", "/runs/a"})
    for (const std::uint64_t step : {10u, 20u})
      ASSERT_TRUE(save(fs, std::string(run) + "/checkpoint", make_snapshot({{"w", {30}}}, {1, 1, 1}, 100, step)).ok());
  ASSERT_TRUE(put_text(fs, "/runs/a/metrics.jsonl",
                       "{\"schema\":\"titan.metrics/1\",\"step\":19,\"loss\":3.5}\n"
                       "{\"schema\":\"titan.metrics/1\",\"step\":20,\"loss\":2.25,\"tps\":1}\n"
                       "{\"schema\":\"titan.metrics/1\",\"step\":20,\"event\":\"spike\",\"loss\":9}\n"
                       "{\"schema\":\"titan.metrics/1\",\"step\":21,\"lo")
                  .ok());
  ASSERT_TRUE(put_text(fs, "/runs/other/x", "x").ok());
  const auto runs = list_runs(fs, "/runs");
  ASSERT_TRUE(runs.ok());
  ASSERT_EQ(runs->size(), 2u);
  EXPECT_EQ((*runs)[0].name, "a");
  EXPECT_EQ((*runs)[0].steps, 2u);
  EXPECT_EQ((*runs)[0].resume, 20u);
  EXPECT_EQ((*runs)[0].last_step, 20u);
  EXPECT_EQ((*runs)[0].last_loss, 2.25);
  EXPECT_EQ((*runs)[1].name, "b");
  EXPECT_FALSE((*runs)[1].last_loss);
  EXPECT_FALSE(list_runs(fs, "/nowhere").ok());
}

TEST(ListRuns, ReadsTheLastWholeStepLine) {
  EXPECT_FALSE(last_loss(""));
  EXPECT_FALSE(last_loss("{\"step\":1,\"loss\":2}")) << "torn";
  EXPECT_EQ(last_loss("{\"step\":1,\"loss\":2}\n"), std::pair(std::uint64_t{1}, 2.0));
  EXPECT_EQ(last_loss("ss\":9}\n{\"step\":3,\"loss\":1e-3}\n{\"step\":4,\"loss\":\"nan\"}\n"),
            std::pair(std::uint64_t{3}, 1e-3));
}

}  // namespace
}  // namespace titan::ckpt::list_runs_test
