#include "recipe/history/run_record.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <limits>

#include "ckpt/base/fs_posix.h"
#include "ckpt/read/reader.h"
#include "tests/support/make_checkpoint.h"
#include "tests/support/scratch_dir.h"

namespace titan::recipe::run_record_test {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::Key;
using ::testing::StartsWith;
using ::testing::UnorderedElementsAre;

RunRecord record() {
  RunRecord made;
  made.steps[11] = {2.5, 1.0, 0.1, 100};
  made.steps[12] = {2.25, std::numeric_limits<double>::quiet_NaN(), 0.1, 200};
  made.ids[12] = "aa";
  return made;
}

TEST(RunRecord, EqualRecordsHaveNoDifference) {
  const RecordComparison same = compare_records(record(), record());
  EXPECT_EQ(same.steps, 2u);
  EXPECT_EQ(same.ids, 1u);
  EXPECT_THAT(same.differences, IsEmpty()) << "NaN is NaN";
}

TEST(RunRecord, OneBitOfALossIsADifference) {
  RunRecord other = record();
  other.steps[12].loss = std::nextafter(2.25, 3);
  other.ids[12] = "bb";
  const RecordComparison found = compare_records(record(), other);
  EXPECT_THAT(found.differences, ElementsAre(RecordDifference{12, "loss", "2.25", "2.2500000000000004"},
                                             RecordDifference{12, "id", "aa", "bb"}));
}

TEST(RunRecord, WhatWasNotComputedDiffersWhatWasNotPublishedDoesNot) {
  RunRecord less = record();
  less.steps.erase(11);
  less.ids.clear();
  EXPECT_EQ(compare_records(less, record()).differences.size(), 0u);
  const RecordComparison found = compare_records(record(), less);
  ASSERT_EQ(found.differences.size(), 5u);
  EXPECT_EQ(found.differences[0], (RecordDifference{11, "loss", "2.5", "nothing"}));
  EXPECT_EQ(found.differences[4], (RecordDifference{12, "id", "aa", "nothing"}));
}

TEST(RunRecord, IsReadFromMetricsAndCheckpoints) {
  const train::ScratchDir dir;
  ckpt::Fs& fs = ckpt::posix_fs();
  ckpt::testing::Synthetic made;
  made.step = 20;
  ASSERT_TRUE(ckpt::testing::make_checkpoint(fs, dir / "run/checkpoint", made).ok());
  std::string lines;
  for (const int step : {10, 11, 20, 21})
    lines +=
        R"({"step":)" + std::to_string(step) + R"(,"attempt":1,"loss":2,"grad_norm":1,"lr":0.5,"tokens":7})" + "\n";
  lines += R"({"step":15,"attempt":1,"event":"save_commit","id":"gone"})"
           "\n";
  lines += R"({"step":20,"attempt":1,"event":"save_commit","id":"replaced since"})"
           "\n";
  dir.write("run/metrics.jsonl", lines);
  const auto read = read_record(fs, dir / "run", 11, 20);
  ASSERT_TRUE(read.ok()) << read.status().to_string();
  EXPECT_THAT(read->steps, ElementsAre(Key(11), Key(20)));
  EXPECT_EQ(read->steps.at(11).lr, 0.5);
  EXPECT_EQ(read->ids.at(15), "gone");
  EXPECT_EQ(read->ids.at(20),
            ckpt::CheckpointReader::open(fs, dir / "run/checkpoint/step-00000020")->manifest().id.hex());
  EXPECT_THAT(read->notes, IsEmpty());
}

TEST(RunRecord, AStepWithoutAWholeManifestIsPassedOverAndNamed) {
  const train::ScratchDir dir;
  ckpt::Fs& fs = ckpt::posix_fs();
  std::filesystem::create_directories(dir / "run/checkpoint/step-00000015");
  dir.write("run/checkpoint/step-00000020/manifest.json", "{}");
  dir.write("run/metrics.jsonl", R"({"step":15,"attempt":1,"event":"save_commit","id":"published"})"
                                 "\n");
  const auto read = read_record(fs, dir / "run", 11, 20);
  ASSERT_TRUE(read.ok()) << read.status().to_string();
  EXPECT_EQ(read->ids.size(), 1u);
  EXPECT_EQ(read->ids.at(15), "published");
  EXPECT_THAT(read->notes,
              UnorderedElementsAre(StartsWith("skipped step-00000015: "), StartsWith("skipped step-00000020: ")));
}

}  // namespace
}  // namespace titan::recipe::run_record_test
