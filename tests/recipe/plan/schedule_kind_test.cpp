#include "recipe/plan/schedule_kind.h"

#include <gtest/gtest.h>

namespace titan::recipe::schedule_kind_test {
namespace {

using enum ScheduleKind;

TEST(ScheduleKind, KnowsTorchtitansNamesInAnyCase) {
  EXPECT_EQ(schedule_by_name("gpipe").value(), kGPipe);
  EXPECT_EQ(schedule_by_name("1f1b").value(), k1F1B);
  EXPECT_EQ(schedule_by_name("INTERLEAVED1F1B").value(), kInterleaved1F1B);
  EXPECT_EQ(schedule_by_name("zbvzerobubble").value(), kZbvZeroBubble);
  for (const ScheduleFacts& facts : schedules()) EXPECT_EQ(schedule_by_name(facts.name).value(), facts.kind);
  for (const ScheduleFacts& facts : schedules()) EXPECT_EQ(&facts_of(facts.kind), &facts);
}

TEST(ScheduleKind, GuessesWhatAWrongNameMeant) {
  const std::pair<const char*, const char*> cases[] = {
      {"GPip", "did you mean `GPipe`?"},
      {"1F1", "did you mean `1F1B`?"},
      {"interleaved1f1", "did you mean `Interleaved1F1B`?"},
      {"dualpipe", "did you mean `DualPipeV`?"},
      {"breadth-first", ""},
  };
  for (const auto& [name, hint] : cases) {
    const auto kind = schedule_by_name(name);
    ASSERT_FALSE(kind.ok()) << name;
    EXPECT_NE(kind.status().message.find("known are GPipe, 1F1B, ZB-H1"), std::string::npos) << name;
    EXPECT_EQ(kind.status().hint, hint) << name;
  }
}

// torchtitan asks for these names beside a file.
TEST(ScheduleKind, KnowsNamesOfOrdersFromFilesOnlyWhereThereIsOne) {
  EXPECT_EQ(schedule_by_name("PipelineScheduleSingle", true).value(), k1F1B);
  EXPECT_EQ(schedule_by_name("pipelineschedulemulti", true).value(), kInterleaved1F1B);
  EXPECT_NE(schedule_by_name("PipelineScheduleMulti").status().hint.find("pipeline_parallel_schedule_csv"),
            std::string::npos);
}

TEST(ScheduleKind, PlacesStagesInALoopOrInAV) {
  for (const Placement placement : {Placement::kLoop, Placement::kV})
    for (std::uint32_t rank = 0; rank < 4; ++rank)
      for (std::uint32_t chunk = 0; chunk < 2; ++chunk)
        EXPECT_EQ(rank_of_stage(placement, 4, stage_of_chunk(placement, 4, rank, chunk)), rank);
  EXPECT_EQ(stage_of_chunk(Placement::kLoop, 4, 1, 2), 9U);
  EXPECT_EQ(stage_of_chunk(Placement::kV, 4, 0, 1), 7U);
  EXPECT_EQ(stage_of_chunk(Placement::kV, 4, 3, 1), 4U);
}

TEST(ScheduleKind, RefusesShapesWithTheNearestThatFits) {
  const struct {
    ScheduleKind kind;
    PipelineShape shape;
    const char* message;
    const char* hint;
  } cases[] = {
      {kGPipe, {0, 1, 4}, "at least one stage", ""},
      {k1F1B, {2, 1, 0}, "at least one stage and one micro-batch", ""},
      {k1F1B, {2, 2, 4}, "schedule 1F1B has 1 stage on each rank, not 2", ""},
      {kInterleaved1F1B, {2, 1, 4}, "has at least 2 stages on each rank, not 1", ""},
      {kZbvZeroBubble, {2, 3, 4}, "ZBVZeroBubble has 2 stages on each rank, not 3", ""},
      {kInterleaved1F1B,
       {4, 2, 11},
       "on 4 ranks goes in 2 rounds, which do not divide the 11 micro-batches",
       "carry out is 10"},
      {kInterleavedZeroBubble, {4, 2, 13}, "3 rounds", "carry out is 12"},
      {kZbH1, {4, 1, 9}, "2 rounds", "carry out is 8"},
      {kDualPipeV, {4, 2, 7}, "with 8 stages needs at least as many micro-batches", "carry out is 8"},
  };
  for (const auto& c : cases) {
    const ckpt::Status status = check_shape(c.kind, c.shape);
    ASSERT_FALSE(status.ok()) << c.message;
    EXPECT_NE(status.message.find(c.message), std::string::npos) << status.to_string();
    EXPECT_NE(status.hint.find(c.hint), std::string::npos) << status.to_string();
  }
  EXPECT_TRUE(check_shape(kInterleaved1F1B, {4, 2, 10}).ok());  // two rounds of five
  EXPECT_TRUE(check_shape(kInterleaved1F1B, {4, 2, 3}).ok());   // one round
  EXPECT_TRUE(check_shape(kZbvZeroBubble, {4, 2, 1}).ok());
}

}  // namespace
}  // namespace titan::recipe::schedule_kind_test
