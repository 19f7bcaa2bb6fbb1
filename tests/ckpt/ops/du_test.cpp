#include "ckpt/ops/du.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "ckpt/base/files.h"
#include "ckpt/ops/lr_set.h"
#include "ckpt/ops/prune.h"
#include "tests/support/files.h"
#include "tests/support/make_checkpoint.h"
#include "tests/support/mem_fs.h"

namespace titan::ckpt::du_test {
namespace {

using namespace titan::ckpt::testing;  // NOLINT: the file is about these

class Du : public ::testing::Test {
 protected:
  Du() {
    for (const std::uint64_t step : {10, 20, 30}) make("/run", step);
    EXPECT_TRUE(put_text(fs_, "/run/metrics.jsonl", "0123456789").ok());
  }
  void make(const std::string& run, std::uint64_t step) {
    Synthetic made;
    made.step = made.seed = step;
    EXPECT_TRUE(make_checkpoint(fs_, run + "/checkpoint", made).ok());
  }
  static DiskRow row(const RunDisk& disk, const std::string& name) {
    const auto found =
        std::find_if(disk.rows.begin(), disk.rows.end(), [&](const DiskRow& one) { return one.name == name; });
    return found == disk.rows.end() ? DiskRow{} : *found;
  }
  static std::uint64_t freed(const RunDisk& disk, const std::string& flags) {
    for (const DiskWay& way : disk.ways)
      if (way.flags == flags) return way.frees;
    return 0;
  }

  MemFs fs_;
};

TEST_F(Du, SumsUpByComponent) {
  const auto report = disk_of_runs(fs_, {"/run"});
  ASSERT_TRUE(report.ok()) << report.status().to_string();
  const RunDisk& disk = report->runs.at(0);
  EXPECT_EQ(disk.steps, 3u);
  EXPECT_EQ(disk.full, 3u);
  EXPECT_EQ(row(disk, "logs and metrics").bytes, 10u);
  EXPECT_EQ(row(disk, "model").files, 6u) << "a shard and model.h5 each";
  EXPECT_GT(row(disk, "optimizer").bytes, row(disk, "state").bytes);
  std::uint64_t sum = 0;
  for (const DiskRow& one : disk.rows) sum += one.bytes;
  EXPECT_EQ(sum, report->bytes);
  EXPECT_EQ(report->once, report->bytes);
}

TEST_F(Du, SharedFilesCountOnceAlsoOverRuns) {
  LrSetOptions options;
  options.src = "/run@30";
  options.dst = "/other/checkpoint/step-00000030";
  options.steps = 200;
  options.policy = LrPolicy::kExtend;
  ASSERT_TRUE(make_dirs(fs_, "/other/checkpoint").ok());
  auto set = plan_lr_set(fs_, options);
  ASSERT_TRUE(set.ok() && write_lr_set(fs_, options, *set).ok());
  const auto report = disk_of_runs(fs_, {"/run", "/other"});
  ASSERT_TRUE(report.ok());
  EXPECT_EQ(row(report->runs[1], "model").once, 0u);
  EXPECT_GT(row(report->runs[1], "model").bytes, 0u);
  EXPECT_GT(row(report->runs[1], "state").once, 0u);
  EXPECT_EQ(report->bytes - report->once, row(report->runs[1], "model").bytes +
                                              row(report->runs[1], "optimizer").bytes +
                                              row(report->runs[1], "state").bytes - row(report->runs[1], "state").once);
}

TEST_F(Du, SaysWhatEachWayFreesAsPruneDoes) {
  ASSERT_TRUE(make_dirs(fs_, "/run/checkpoint/step-00000040.tmp-0123456789ab").ok());
  ASSERT_TRUE(put_text(fs_, "/run/checkpoint/step-00000040.tmp-0123456789ab/x", "left").ok());
  const auto report = disk_of_runs(fs_, {"/run"});
  ASSERT_TRUE(report.ok());
  const RunDisk& disk = report->runs.at(0);
  EXPECT_EQ(freed(disk, ""), 4u);
  EXPECT_EQ(row(disk, "leftovers").bytes, 4u);
  for (const auto& [flags, rules] :
       {std::pair("--keep-last 1", PruneRules{.keep_last = 1}), std::pair("--thin 1", PruneRules{.thin = 1})}) {
    PruneOptions options;
    options.run = "/run";
    options.rules = rules;
    options.dry_run = true;
    EXPECT_EQ(freed(disk, flags) + 4, prune_run(fs_, options)->bytes_freed) << flags;
  }
}

TEST_F(Du, NoSuchRun) { EXPECT_EQ(disk_of_runs(fs_, {"/run", "/none"}).status().code, Code::kNotFound); }

}  // namespace
}  // namespace titan::ckpt::du_test
