#include "tests/support/failing_fs.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "ckpt/base/files.h"
#include "tests/support/files.h"
#include "tests/support/mem_fs.h"

namespace titan::ckpt::testing::failing_fs_test {
namespace {

std::span<const std::byte> bytes(std::string_view text) { return std::as_bytes(std::span(text)); }

TEST(FailingFs, FailsExactlyTheKthMatchingCallAndDoesNothingElse) {
  MemFs memory;
  FailingFs fs(memory);
  fs.arm({.op = Op::kMakeDir, .path_part = "x", .k = 2, .error = ENOSPC});
  EXPECT_TRUE(fs.make_dir("/x1").ok());
  EXPECT_TRUE(fs.make_dir("/y").ok());
  EXPECT_FALSE(fs.fired());
  Status status = fs.make_dir("/x2");
  EXPECT_EQ(status.code, Code::kFailed);
  EXPECT_THAT(status.message, ::testing::HasSubstr("disk full"));
  EXPECT_TRUE(fs.fired());
  EXPECT_TRUE(fs.make_dir("/x3").ok()) << "once only";
  EXPECT_EQ(memory.stat("/x2").status().code, Code::kNotFound);
  EXPECT_EQ(fs.count(Op::kMakeDir), 4u);
}

TEST(FailingFs, AStickyFaultStays) {
  MemFs memory;
  FailingFs fs(memory);
  fs.arm({.k = 2, .repeat = Repeat::kSticky, .status = corrupt("broken")});
  EXPECT_TRUE(fs.make_dir("/a").ok());
  EXPECT_EQ(fs.make_dir("/b").message, "broken");
  EXPECT_EQ(fs.sync_dir("/").message, "broken");
  fs.disarm();
  EXPECT_TRUE(fs.make_dir("/b").ok());
}

TEST(FailingFs, ATornWriteLeavesItsFirstBytes) {
  MemFs memory;
  FailingFs fs(memory);
  fs.arm({.op = Op::kPwrite, .written_before = 3});
  auto file = fs.create("/f");
  ASSERT_TRUE(file.ok());
  EXPECT_FALSE((*file)->pwrite(0, bytes("abcdef")).ok());
  EXPECT_EQ(get_text(memory, "/f"), "abc");
}

TEST(FailingFs, NoticesASecondSyncOfALostFileButNotOfItsReplacement) {
  MemFs memory;
  FailingFs fs(memory);
  fs.arm({.op = Op::kDatasync});
  auto file = fs.create("/f");
  ASSERT_TRUE(file.ok());
  EXPECT_FALSE((*file)->datasync().ok());
  ASSERT_TRUE(fs.remove_file("/f").ok());
  auto again = fs.create("/f");
  ASSERT_TRUE(again.ok());
  EXPECT_TRUE((*again)->datasync().ok());
  EXPECT_FALSE(fs.synced_after_failure());

  fs.arm({.op = Op::kDatasync});
  EXPECT_FALSE((*again)->datasync().ok());
  EXPECT_TRUE((*again)->datasync().ok());
  EXPECT_TRUE(fs.synced_after_failure());
}

TEST(MemFs, AFullDiskFailsTheWriteAndRemovalsGiveSpaceBack) {
  MemFs fs(2 * 4096);
  auto file = fs.create("/f");
  ASSERT_TRUE(file.ok());
  EXPECT_TRUE((*file)->pwrite(0, std::vector<std::byte>(4096)).ok());
  EXPECT_EQ(*fs.free_bytes("/"), 4096u);
  Status status = (*file)->pwrite(4096, std::vector<std::byte>(8192));
  EXPECT_EQ(status.code, Code::kFailed);
  EXPECT_THAT(status.message, ::testing::HasSubstr("disk full"));
  ASSERT_TRUE((*file)->close().ok());
  ASSERT_TRUE(fs.remove_file("/f").ok());
  EXPECT_EQ(*fs.free_bytes("/"), 8192u);
}

TEST(MemFs, OverwriteAndResizeDamageAFile) {
  MemFs fs;
  ASSERT_TRUE(put_text(fs, "/d/f", "abcdef").ok());
  ASSERT_TRUE(fs.overwrite("/d/f", 2, bytes("X")).ok());
  ASSERT_TRUE(fs.resize("/d/f", 4).ok());
  EXPECT_EQ(get_text(fs, "/d/f"), "abXd");
  EXPECT_EQ(fs.overwrite("/no", 0, bytes("X")).code, Code::kNotFound);
}

// A helper that writes a file durably must fail cleanly wherever a call fails.
TEST(Fs, WriteNewFileReportsEveryFailingCallAndNeverSyncsTwice) {
  for (std::uint64_t k = 1;; ++k) {
    MemFs memory;
    FailingFs fs(memory);
    fs.arm({.k = k});
    Status status = write_new_file(fs, "/f", bytes("data"));
    if (!fs.fired()) {
      EXPECT_EQ(k, 5u) << "create, pwrite, datasync, close";
      EXPECT_TRUE(status.ok());
      break;
    }
    EXPECT_EQ(status.code, Code::kFailed) << "call " << k;
    EXPECT_THAT(status.message, ::testing::HasSubstr("/f"));
    EXPECT_FALSE(fs.synced_after_failure());
  }
}

TEST(Fs, MakeDirsSyncsTheParentOfEveryNewName) {
  MemFs memory;
  ASSERT_TRUE(memory.make_dir("/a").ok());
  FailingFs fs(memory);
  ASSERT_TRUE(make_dirs(fs, "/a/b/c").ok());
  std::vector<std::string> synced;
  for (const Call& call : fs.calls())
    if (call.op == Op::kSyncDir) synced.push_back(call.path);
  EXPECT_THAT(synced, ::testing::ElementsAre("/a", "/a/b"));
}

TEST(Fs, RemoveTreeGoesOnAfterAFailureAndReportsIt) {
  MemFs memory;
  ASSERT_TRUE(put_text(memory, "/t/a", "").ok());
  ASSERT_TRUE(put_text(memory, "/t/b", "").ok());
  ASSERT_TRUE(put_text(memory, "/t/c", "").ok());
  FailingFs fs(memory);
  fs.arm({.op = Op::kRemoveFile, .path_part = "/t/b"});
  EXPECT_EQ(remove_tree(fs, "/t").code, Code::kFailed);
  EXPECT_THAT(tree(memory, "/t"), ::testing::ElementsAre("b"));
}

}  // namespace
}  // namespace titan::ckpt::testing::failing_fs_test
