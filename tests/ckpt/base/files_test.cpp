// What these functions ask of a file system, and what they do when it refuses. fs_test.cpp has what they do on each.
#include "ckpt/base/files.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cerrno>

#include "tests/support/failing_fs.h"
#include "tests/support/files.h"
#include "tests/support/meddling_fs.h"
#include "tests/support/mem_fs.h"

namespace titan::ckpt::files_test {
namespace {

using namespace titan::ckpt::testing;  // NOLINT: the file is about these
using ::testing::ElementsAre;
using ::testing::HasSubstr;

TEST(WriteNewFile, MakesTheBytesDurableBeforeItCloses) {
  MemFs memory;
  FailingFs fs(memory);
  ASSERT_TRUE(write_new_file(fs, "/f", std::as_bytes(std::span("x", 1))).ok());
  const std::vector<Call> calls = fs.calls();
  const auto place = [&](Op op) { return std::find(calls.begin(), calls.end(), Call{op, "/f"}) - calls.begin(); };
  EXPECT_LT(place(Op::kPwrite), place(Op::kDatasync));
  EXPECT_LT(place(Op::kDatasync), place(Op::kClose));
  EXPECT_LT(place(Op::kClose), static_cast<std::ptrdiff_t>(calls.size()));
}

TEST(MakeDirs, MakesEveryNewNameDurable) {
  MemFs memory;
  ASSERT_TRUE(memory.make_dir("/a").ok());
  FailingFs fs(memory);
  ASSERT_TRUE(make_dirs(fs, "/a/b/c").ok());
  EXPECT_EQ(fs.count(Op::kMakeDir), 2u);
  const std::vector<Call> calls = fs.calls();
  for (const char* parent : {"/a", "/a/b"})
    EXPECT_NE(std::find(calls.begin(), calls.end(), Call{Op::kSyncDir, parent}), calls.end()) << parent;
  fs.arm({.op = Op::kSyncDir, .path_part = "/a/b"});
  EXPECT_EQ(make_dirs(fs, "/a/b/d").code, Code::kFailed);
}

// Ranks make the same folder at the same time.
TEST(MakeDirs, TakesAFolderThatAnotherProcessMadeMeanwhile) {
  MemFs memory;
  ASSERT_TRUE(make_dirs(memory, "/a").ok());
  FailingFs fs(memory);
  fs.arm({.op = Op::kStat, .path_part = "/a", .status = not_found("not there yet")});
  const Status status = make_dirs(fs, "/a");
  EXPECT_TRUE(status.ok()) << status.to_string();
  EXPECT_EQ(fs.count(Op::kMakeDir), 1u);
  EXPECT_EQ(fs.count(Op::kSyncDir), 1u) << "its name has to be durable for us as well";
}

TEST(RemoveTree, EndsBetweenTwoFilesOnceItIsToStop) {
  MemFs fs;
  for (const char* path : {"/t", "/t/d"}) ASSERT_TRUE(fs.make_dir(path).ok());
  for (const char* path : {"/t/a", "/t/b", "/t/d/c"}) ASSERT_TRUE(put_text(fs, path, "x").ok());
  CancelSource source;
  testing::MeddlingFs meddling(fs);
  meddling.before_calls([&](const char* call, const std::string& path) {
    if (std::string_view(call) == "unlink" && path == "/t/b") (void)source.request(StopReason::kTerminate);
  });
  EXPECT_EQ(remove_tree(meddling, "/t", CancelToken(source)).code, Code::kTerminated);
  EXPECT_EQ(fs.stat("/t/b").status().code, Code::kNotFound);
  EXPECT_TRUE(fs.stat("/t/d/c").ok());
  EXPECT_TRUE(remove_tree(fs, "/t").ok());
  EXPECT_EQ(fs.stat("/t").status().code, Code::kNotFound);
}

TEST(RemoveTree, GoesOnPastWhatCannotGoAndSaysTheFirst) {
  MemFs memory;
  for (const char* name : {"a", "b/x", "b/y", "c"}) ASSERT_TRUE(put_text(memory, std::string("/t/") + name, "x").ok());
  FailingFs fs(memory);
  fs.arm({.op = Op::kRemoveFile, .path_part = "/t/b/x", .error = EACCES});
  const Status status = remove_tree(fs, "/t");
  EXPECT_EQ(status.code, Code::kFailed);
  EXPECT_THAT(status.message, HasSubstr("/t/b/x"));
  EXPECT_THAT(tree(memory, "/t"), ElementsAre("b/", "b/x"));
}

}  // namespace
}  // namespace titan::ckpt::files_test
