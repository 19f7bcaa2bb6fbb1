#include "libtrain/job/schedule/schedule_of_run.h"

#include <gmock/gmock.h>

#include "recipe/plan/plan_values.h"

namespace titan::train::schedule_of_run_test {
namespace {

using testing::HasSubstr;

/// Two ranks, and a file where `csv` is not empty.
recipe::RunPlan plan_of(recipe::ScheduleKind kind, std::uint32_t chunks, const std::string& csv = "") {
  recipe::RunPlan plan;
  plan.mesh.pp = 2;
  plan.batch = {.micro = 2, .global = 4, .count = 2, .seq_len = 8};
  plan.schedule = kind;
  plan.chunks = chunks;
  if (!csv.empty()) plan.schedule_file = {"order.csv", csv};
  return plan;
}

using enum recipe::ScheduleKind;

TEST(ScheduleOf, IsTheNamedOneOrThatOfTheFile) {
  EXPECT_EQ(to_csv(*schedule_of(plan_of(kGPipe, 1), 2)), "0F0,0F1,0B0,0B1\n1F0,1F1,1B0,1B1\n");
  const std::string order = "0F0,0F1,0B1,0B0\n1F0,1F1,1B1,1B0\n";
  EXPECT_EQ(to_csv(*schedule_of(plan_of(kGPipe, 1, order), 2)), order);
  const std::string v = "0F0,3F0,3I0,3W0,0B0\n1F0,2F0,2B0,1B0\n";
  EXPECT_EQ(to_csv(*schedule_of(plan_of(kZbvZeroBubble, 2, v), 1)), v);
}

TEST(ScheduleOf, RefusesAFileThatIsNotOfThisPipeline) {
  const struct {
    const char* csv;
    const char* message;
  } cases[] = {
      {"0F0,0B0\n", "the file has 1 rows; expected is one for each of the 2 ranks"},
      {"0F0,0B0\n1F0,1B0\n", "the file is for 1 micro-batches; a data-parallel rank has 2"},
      {"0F0,0F1,0B0,0B1\n1F0,1F1,1B0,2B1\n", "line 2, cell 4 (2B1): stage 2 of 2"},
      {"1F0,1F1,1B0,1B1\n0F0,0F1,0B0,0B1\n", "line 1, cell 1 (1F0): stage 1 is on rank 1, whose row is line 2"},
      {"0F0,0F1,0B0\n1F0,1F1,1B0,1B1\n", "misses 0B1"},
      {"0F0,0F1,0B0,0B1\n1F0,1F1,,1B0,1B0\n", "line 2, cell 5 (1B0) repeats line 2, cell 4 (1B0)"},
      {"0F0,,0B0,0F1,0B1\n1F0,1F1,1B0,1B1\n", "deadlocks: line 1, cell 3 (0B0) waits for ever"},
      {"0F0,0F1,0B0,0B1\n1F0,1F1,1B0,x\n", "line 2, cell 4: `x` is no action"},
  };
  for (const auto& c : cases) {
    const auto table = schedule_of(plan_of(kGPipe, 1, c.csv), 2);
    ASSERT_FALSE(table.ok()) << c.csv;
    EXPECT_EQ(table.status().code, ckpt::Code::kInvalid);
    EXPECT_THAT(table.status().message, HasSubstr("pipeline_parallel_schedule_csv order.csv")) << c.csv;
    EXPECT_THAT(table.status().to_string(), HasSubstr(c.message));
  }
}

}  // namespace
}  // namespace titan::train::schedule_of_run_test
