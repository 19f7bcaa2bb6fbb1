#include "ckpt/run/near_folder.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "ckpt/base/files.h"
#include "ckpt/run/run_folder.h"
#include "tests/support/files.h"
#include "tests/support/mem_fs.h"

namespace titan::ckpt::near_folder_test {
namespace {

using namespace titan::ckpt::testing;  // NOLINT: the file is about these

struct Runs {
  MemFs fs;
  Runs() {
    EXPECT_TRUE(make_dirs(fs, "/run/checkpoint").ok());
    EXPECT_TRUE(make_dirs(fs, "/shm").ok());
  }
};

TEST(NearFolder, BelongsToOneRunInOnePlace) {
  Runs runs;
  EXPECT_EQ(*find_near(runs.fs, "/run/checkpoint", "/shm"), "");
  const std::string folder = *open_near(runs.fs, "/run/checkpoint", "/shm");
  EXPECT_TRUE(folder.starts_with("/shm/titan-"));
  EXPECT_EQ(runs.fs.stat(folder)->type, FileType::kDirectory);
  EXPECT_EQ(*open_near(runs.fs, "/run/checkpoint", "/shm"), folder);
  EXPECT_EQ(*find_near(runs.fs, "/run/checkpoint", "/shm"), folder);
  // A copy of the run.
  ASSERT_TRUE(put_text(runs.fs, "/copy/near.id", get_text(runs.fs, "/run/checkpoint/near.id")).ok());
  EXPECT_NE(*open_near(runs.fs, "/copy", "/shm"), folder);
  // Another run in the same place.
  ASSERT_TRUE(remove_tree(runs.fs, "/run").ok());
  ASSERT_TRUE(make_dirs(runs.fs, "/run/checkpoint").ok());
  EXPECT_NE(*open_near(runs.fs, "/run/checkpoint", "/shm"), folder);
}

TEST(NearFolder, NeitherHoldsTheOther) {
  Runs runs;
  ASSERT_TRUE(runs.fs.symlink("/run/checkpoint", "/steps").ok());
  ASSERT_TRUE(make_dirs(runs.fs, "/disk/steps").ok());
  ASSERT_TRUE(make_dirs(runs.fs, "/linked").ok());
  ASSERT_TRUE(runs.fs.symlink("/disk/steps", "/linked/checkpoint").ok());
  const auto check = [&](const std::string& root, const std::string& run = "/run") {
    const Status status = check_near(runs.fs, root, run, run + "/checkpoint");
    EXPECT_TRUE(status.ok() || status.code == Code::kInvalid);
    return status.message;
  };
  for (const char* root : {"/shm", "/shm/a/b", "/runs", "/run-near", "/gone/../near"})
    EXPECT_EQ(check(root), "") << root;
  EXPECT_EQ(check("shm"), "checkpoint.near = shm: expected an absolute path");
  for (const char* root : {"/run", "/run/", "/run/near", "/run/checkpoint", "/steps", "/steps/a/b", "/gone/../run/x"})
    EXPECT_THAT(check(root), ::testing::HasSubstr("lies in the run folder /run")) << root;
  EXPECT_EQ(check("/"), "checkpoint.near = / holds the run folder /run: expected a place of its own");
  EXPECT_THAT(check("/new", "/new/run"), ::testing::HasSubstr("holds the run folder /new/run"));
  EXPECT_THAT(check("/disk/steps/x", "/linked"), ::testing::HasSubstr("lies in the run folder /disk/steps"));
  EXPECT_THAT(check("/disk", "/linked"), ::testing::HasSubstr("holds the run folder /disk/steps"));
}

TEST(NearFolder, AFileInItsPlaceIsRefusedWithTheKey) {
  Runs runs;
  ASSERT_TRUE(put_text(runs.fs, "/file", "mine").ok());
  for (const char* root : {"/file", "/file/near"}) {
    const Status status = check_near(runs.fs, root, "/run", "/run/checkpoint");
    EXPECT_EQ(status.code, Code::kInvalid);
    EXPECT_EQ(status.message, std::string("checkpoint.near = ") + root + ": /file is no folder");
    const Status made = make_near(runs.fs, root);
    EXPECT_EQ(made.code, Code::kInvalid);
    EXPECT_THAT(made.message, ::testing::HasSubstr("checkpoint.near = "));
  }
  EXPECT_TRUE(make_near(runs.fs, "/new/near").ok());
  EXPECT_TRUE(runs.fs.stat("/new/near").ok());
}

TEST(NearFolder, ItsMarkIsNoForeignFile) {
  Runs runs;
  ASSERT_TRUE(open_near(runs.fs, "/run/checkpoint", "/shm").ok());
  EXPECT_TRUE(list_steps(runs.fs, "/run/checkpoint")->foreign.empty());
}

TEST(NearFolder, DeadSavesInItGo) {
  Runs runs;
  const std::string folder = *open_near(runs.fs, "/run/checkpoint", "/shm");
  ASSERT_TRUE(put_text(runs.fs, folder + "/step-00000005.tmp-0123456789ab/x", "1").ok());
  ASSERT_TRUE(put_text(runs.fs, folder + "/step-00000004/x", "1").ok());
  ASSERT_TRUE(open_near(runs.fs, "/run/checkpoint", "/shm").ok());
  EXPECT_EQ(tree(runs.fs, folder), (std::vector<std::string>{"step-00000004/", "step-00000004/x"}));
}

TEST(NearFolder, ADamagedMarkIsNamed) {
  Runs runs;
  ASSERT_TRUE(put_text(runs.fs, "/run/checkpoint/near.id", "../../etc").ok());
  const Status found = find_near(runs.fs, "/run/checkpoint", "/shm").status();
  EXPECT_EQ(found.code, Code::kCorrupt);
  EXPECT_THAT(found.message, ::testing::HasSubstr("/run/checkpoint/near.id"));
  EXPECT_EQ(open_near(runs.fs, "/run/checkpoint", "/shm").status(), found);
}

TEST(NearFolder, AStepRemembersThatItWasDurable) {
  Runs runs;
  ASSERT_TRUE(put_text(runs.fs, "/shm/step-00000004/x", "1").ok());
  EXPECT_FALSE(was_durable(runs.fs, "/shm/step-00000004"));
  EXPECT_TRUE(note_durable(runs.fs, "/shm/step-00000004").ok());
  EXPECT_TRUE(note_durable(runs.fs, "/shm/step-00000004").ok());
  EXPECT_TRUE(was_durable(runs.fs, "/shm/step-00000004"));
}

}  // namespace
}  // namespace titan::ckpt::near_folder_test
