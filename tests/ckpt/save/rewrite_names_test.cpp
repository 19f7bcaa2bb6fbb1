// Where a tool may write: names, other checkpoints, runs.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>

#include "ckpt/base/files.h"
#include "ckpt/base/fs_posix.h"
#include "ckpt/lock/run_lock.h"
#include "tests/ckpt/save/rewrite_tool.h"
#include "tests/support/failing_fs.h"
#include "tests/support/mem_fs.h"

namespace titan::ckpt::rewrite_names_test {
namespace {

using namespace titan::ckpt::testing;  // NOLINT: the file is about these
using ::testing::HasSubstr;

TEST(Rewrite, RefusesNamesThatCannotWork) {
  MemFs fs;
  make(fs, "/src");
  make(fs, "/other");
  ASSERT_TRUE(put_text(fs, "/file", "x").ok());
  ASSERT_TRUE(put_text(fs, "/folder/x", "x").ok());
  ASSERT_TRUE(put_text(fs, "/damaged/manifest.json", "{}").ok());
  const auto before = contents(fs, "/");
  struct {
    const char *dst, *message;
    bool force;
  } const cases[] = {
      {kSrc, "is the source", false},
      {kSrc, "is the source", true},
      {"/./src//step-00000010/", "is the source", true},
      {"/src/step-00000010/model", "lies inside the source", true},
      {"/src/step-00000010/new", "lies inside the source", false},
      {"/src", "lies inside the destination", true},
      {"/", "cannot be the name", true},
      {"", "cannot be the name", false},
      {"/src/..", "cannot be the name", true},
      {"/none/none/new", "there is no folder /none/none", false},
      {"/file/new", "is not a folder", false},
      {"/file/none/new", "there is no folder /file/none", false},
      {"/src/step-00000010/none/new", "lies inside the source", false},
      {"/other/step-00000010/none/new", "lies inside the checkpoint", false},
      {"/other/step-00000010", "exists", false},
      {"/file", "is not a checkpoint", true},
      {"/folder", "is not a checkpoint", true},
      {"/damaged", "is not a checkpoint", true},
  };
  for (const auto& c : cases) {
    SCOPED_TRACE(std::string(c.dst) + (c.force ? " --force" : ""));
    EXPECT_EQ(check_rewrite(fs, kSrc, c.dst, c.force).code, Code::kInvalid);
    const Status status = copy_checkpoint(fs, kSrc, c.dst, c.force);
    EXPECT_EQ(status.code, Code::kInvalid) << status.to_string();
    EXPECT_THAT(status.message, HasSubstr(c.message));
  }
  const bool untouched = contents(fs, "/") == before;
  EXPECT_TRUE(untouched) << "nothing is written";
}

TEST(Rewrite, MakesOneMissingFolderAndTakesItBackWhenNothingComesOfIt) {
  MemFs fs;
  make(fs, "/src");
  ASSERT_TRUE(fs.make_dir("/out").ok());
  EXPECT_TRUE(check_rewrite(fs, kSrc, "/out/new/copy", false).ok());
  EXPECT_FALSE(fs.stat("/out/new").ok()) << "a look makes nothing";
  {
    const auto begun = Rewrite::begin(fs, kSrc, "/out/new/copy", false);
    ASSERT_TRUE(begun.ok()) << begun.status().to_string();
    EXPECT_TRUE(fs.stat("/out/new").ok());
  }
  EXPECT_FALSE(fs.stat("/out/new").ok());
  EXPECT_TRUE(copy_checkpoint(fs, kSrc, "/out/new/copy").ok());
  EXPECT_TRUE(whole(fs, "/out/new/copy"));
}

TEST(Rewrite, ADestinationWhoseManifestCannotBeReadIsNotCalledSomethingElse) {
  MemFs memory;
  make(memory, "/src");
  make(memory, "/other");
  const auto before = contents(memory, "/other");
  FailingFs fs(memory);
  for (const Op op : {Op::kOpenRead, Op::kPread, Op::kStat}) {
    for (const auto& [error, code] : {std::pair(EIO, Code::kMediaError), {EMFILE, Code::kFailed}}) {
      fs.arm({.op = op, .path_part = "/other/step-00000010/manifest.json", .repeat = Repeat::kSticky, .error = error});
      const Status status = check_rewrite(fs, kSrc, "/other/step-00000010", true);
      EXPECT_EQ(status.code, code) << op_name(op) << ": " << status.to_string();
      EXPECT_THAT(status.to_string(), HasSubstr("other/step-00000010"));
    }
  }
  fs.disarm();
  EXPECT_TRUE(contents(memory, "/other") == before);
}

TEST(Rewrite, ADestinationThatIsALinkToTheSourceIsTheSource) {
  TempDir dir;
  Fs& fs = posix_fs();
  make(fs, dir / "src");
  std::filesystem::create_directory_symlink("src", dir / "link");
  EXPECT_THAT(copy_checkpoint(fs, dir / "src/step-00000010", dir / "link/../link/step-00000010", true).message,
              HasSubstr("is the source"));
  std::filesystem::create_directory_symlink("src/step-00000010", dir / "alias");
  EXPECT_THAT(copy_checkpoint(fs, dir / "src/step-00000010", dir / "alias", true).message, HasSubstr("is the source"));
  EXPECT_TRUE(whole(fs, dir / "src/step-00000010"));
}

TEST(Rewrite, RefusesTheNameOfAnotherStepAndOfARunsStep) {
  MemFs fs;
  make(fs, "/src");
  ASSERT_TRUE(fs.make_dir("/out").ok());
  for (const char* dst : {"/out/step-00000011", "/src@10", "/src@latest"}) {
    const Status status = copy_checkpoint(fs, kSrc, dst, true);
    EXPECT_EQ(status.code, Code::kInvalid) << dst;
    EXPECT_FALSE(status.hint.empty()) << dst;
    EXPECT_EQ(fs.stat(dst).status().code, Code::kNotFound) << dst;
  }
  EXPECT_TRUE(copy_checkpoint(fs, kSrc, "/out/me@home").ok());
  EXPECT_TRUE(copy_checkpoint(fs, kSrc, "/out/step-00000010").ok());
}

TEST(Rewrite, WritesIntoNoPublishedCheckpoint) {
  MemFs fs;
  make(fs, "/src");
  make(fs, "/other");
  ASSERT_TRUE(fs.rename_noreplace("/other/step-00000010", "/other/renamed").ok());
  make(fs, "/damaged");
  ASSERT_TRUE(fs.remove_file("/damaged/step-00000010/manifest.json").ok());
  ASSERT_TRUE(put_text(fs, "/damaged/step-00000010/manifest.json", "gone").ok());
  for (const std::string inside : {"/other/renamed", "/damaged/step-00000010"}) {
    const auto before = contents(fs, inside);
    for (const std::string& dst : {inside + "/new", inside + "/model/new"}) {
      const Status status = copy_checkpoint(fs, kSrc, dst);
      EXPECT_EQ(status.code, Code::kInvalid) << dst;
      EXPECT_THAT(status.message, HasSubstr("lies inside the checkpoint " + inside));
      EXPECT_EQ(check_rewrite(fs, kSrc, dst, false).code, Code::kInvalid) << dst;
    }
    EXPECT_EQ(contents(fs, inside), before);
  }
  // Another program's file of that name.
  int number = 0;
  for (const char* text : {"{}", "{\"manifest_version\": 3, \"name\": \"an extension\"}"}) {
    const std::string project = "/project" + std::to_string(++number);
    ASSERT_TRUE(put_text(fs, project + "/manifest.json", text).ok());
    EXPECT_EQ(check_rewrite(fs, kSrc, project + "/new", false).code, Code::kOk) << text;
  }
}

TEST(Rewrite, TakesTheLockOfARunThatTheDestinationLiesIn) {
  struct {
    const char *run, *dst;
    bool locks;
  } const cases[] = {
      {"/run", "/run/checkpoint/step-00000010", true},  // <run>/checkpoint
      {"/run", "/run/checkpoint/exported", true},       // beside steps
      {"/run", "/run/exported", true},                  // beside run.lock
      {"/run", "/run/exports/by/day/exported", true},   // deep in the run
      {"/plain", "/plain/a/ck/step-00000010", true},    // a nested folder of steps
      {"/plain", "/plain/step-00000010", true},         // a folder of steps
      {"/run", "/free/step-00000010", false},
  };
  for (const auto& c : cases) {
    SCOPED_TRACE(c.dst);
    MemFs fs;
    make(fs, "/src");
    make(fs, "/run/checkpoint", 20);
    make(fs, "/plain", 20);
    make(fs, "/plain/a/ck", 20);
    ASSERT_TRUE(make_dirs(fs, "/run/exports/by/day").ok());
    ASSERT_TRUE(fs.make_dir("/free").ok());
    auto trainer = RunLock::take(fs, c.run, this_process());
    ASSERT_TRUE(trainer.ok());
    const Status status = copy_checkpoint(fs, kSrc, c.dst);
    EXPECT_EQ(status.code, c.locks ? Code::kLocked : Code::kOk) << status.to_string();
    if (!c.locks) continue;
    EXPECT_EQ(fs.stat(c.dst).status().code, Code::kNotFound);
    EXPECT_EQ(fs.stat(std::string(c.dst) + ".tmp-rewrite").status().code, Code::kNotFound);
    trainer->reset();
    EXPECT_TRUE(copy_checkpoint(fs, kSrc, c.dst).ok());
  }
}

TEST(Rewrite, KnowsWhichNamesAResumeFinds) {
  EXPECT_FALSE(hidden_from_resume("/run/checkpoint/step-00000010", 10));
  EXPECT_FALSE(hidden_from_resume("step-00000010/", 10));
  EXPECT_TRUE(hidden_from_resume("/run/checkpoint/step-00000011", 10));
  EXPECT_TRUE(hidden_from_resume("/run/checkpoint/step-10", 10));
}

}  // namespace
}  // namespace titan::ckpt::rewrite_names_test
