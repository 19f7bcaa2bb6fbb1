#include "ckpt/ops/list.h"

#include <gmock/gmock.h>

#include "tests/support/files.h"
#include "tests/support/make_checkpoint.h"
#include "tests/support/mem_fs.h"

namespace titan::ckpt::list_test {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using testing::make_checkpoint;
using testing::MemFs;
using testing::put_text;

std::string save(MemFs& fs, std::uint64_t step) {
  const Result<Published> published = make_checkpoint(fs, "/run/checkpoint", {.step = step});
  EXPECT_TRUE(published.ok()) << published.status().to_string();
  return published->path;
}

TEST(ListRun, MarksTheNewestValidStepAndSaysWhyNotTheOthers) {
  MemFs fs;
  save(fs, 10);
  save(fs, 20);
  const std::string newest = save(fs, 30);
  ASSERT_TRUE(fs.resize(newest + "/manifest.json", 100).ok());
  ASSERT_TRUE(put_text(fs, "/run/checkpoint/step-00000010/.keep", "").ok());

  const Result<ListReport> report = list_run(fs, "/run");
  ASSERT_TRUE(report.ok()) << report.status().to_string();
  ASSERT_EQ(report->steps.size(), 3u);
  const ListedStep &bad = report->steps[0], &taken = report->steps[1], &old = report->steps[2];
  EXPECT_FALSE(bad.valid);
  EXPECT_FALSE(bad.resume);
  EXPECT_FALSE(bad.mesh);
  EXPECT_THAT(bad.reason, HasSubstr("manifest.json"));
  EXPECT_TRUE(taken.valid && taken.full && taken.resume);
  EXPECT_EQ(taken.reason, "");
  EXPECT_EQ(taken.mesh, (Mesh{1, 1, 1}));
  EXPECT_EQ(old.reason, "older");
  EXPECT_TRUE(old.pinned);
  EXPECT_FALSE(old.resume);
}

TEST(ListRun, ListsOneCheckpointOutsideOfARun) {
  MemFs fs;
  save(fs, 10);
  ASSERT_TRUE(fs.rename("/run/checkpoint/step-00000010", "/run/copy").ok());
  const Result<ListReport> report = list_run(fs, "/run/copy");
  ASSERT_TRUE(report.ok()) << report.status().to_string();
  ASSERT_EQ(report->steps.size(), 1u);
  EXPECT_EQ(report->steps[0].step, 10u);
  EXPECT_TRUE(report->steps[0].valid && report->steps[0].full);
  EXPECT_FALSE(report->steps[0].resume);
  EXPECT_THAT(report->steps[0].reason, HasSubstr("--resume /run/copy"));
  ASSERT_TRUE(fs.resize("/run/copy/manifest.json", 100).ok());
  EXPECT_THAT(list_run(fs, "/run/copy")->steps[0].reason, HasSubstr("manifest.json"));
}

TEST(ListRun, CountsTheBytesOfAllFilesOfAStep) {
  MemFs fs;
  const std::string path = save(fs, 10);
  std::uint64_t bytes = 0;
  for (const std::string& name : testing::tree(fs, path))
    if (name.back() != '/') bytes += fs.stat(path + "/" + name)->size;
  EXPECT_GT(bytes, 100'000u);
  EXPECT_EQ(list_run(fs, "/run")->steps[0].bytes, bytes);
}

TEST(ListRun, NamesLeftoversAndForeignEntriesButNotTheAdviceFile) {
  MemFs fs;
  save(fs, 10);
  ASSERT_TRUE(put_text(fs, "/run/checkpoint/step-00000020.tmp-0123456789abcdef/x", "").ok());
  ASSERT_TRUE(put_text(fs, "/run/checkpoint/step-20/x", "").ok());
  ASSERT_TRUE(fs.stat("/run/checkpoint/latest").ok());
  const Result<ListReport> report = list_run(fs, "/run");
  EXPECT_THAT(report->leftovers, ElementsAre("step-00000020.tmp-0123456789abcdef"));
  EXPECT_THAT(report->foreign, ElementsAre("step-20"));
}

TEST(ListRun, RefusesWhatIsNoRun) {
  MemFs fs;
  EXPECT_EQ(list_run(fs, "/nowhere").status().code, Code::kNotFound);
}

}  // namespace
}  // namespace titan::ckpt::list_test
