#include "ckpt/store/link_or_copy.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <cerrno>
#include <filesystem>

#include "ckpt/base/files.h"
#include "ckpt/base/fs_posix.h"
#include "tests/support/failing_fs.h"
#include "tests/support/files.h"
#include "tests/support/mem_fs.h"

namespace titan::ckpt::link_or_copy_test {
namespace {

using namespace titan::ckpt::testing;  // NOLINT: the file is about these
using ::testing::ElementsAre;
using ::testing::HasSubstr;

// What PosixFs makes of EXDEV and its like.
Status cannot(const char* why) { return unsupported(std::string("/a: link to /b: ") + why); }

TEST(LinkOrCopy, LinksAndMakesTheSourceDurableFirst) {
  MemFs memory;
  ASSERT_TRUE(put_text(memory, "/a", "content").ok());
  FailingFs fs(memory);
  const auto carried = link_or_copy(fs, "/", "a", "/b");
  ASSERT_TRUE(carried.ok()) << carried.status().to_string();
  EXPECT_EQ(carried->method, LinkMethod::kLink);
  EXPECT_EQ(carried->reason, "");
  EXPECT_EQ(get_text(memory, "/b"), "content");
  std::vector<Op> ops;
  for (const Call& call : fs.calls()) ops.push_back(call.op);
  EXPECT_THAT(ops, ElementsAre(Op::kOpenRead, Op::kDatasync, Op::kLink, Op::kClose));
}

TEST(LinkOrCopy, CopiesWhereItCanNeitherLinkNorClone) {
  MemFs memory;
  const std::string text(10'000'000, 'x');  // more than one block
  ASSERT_TRUE(put_text(memory, "/a", text).ok());
  FailingFs fs(memory);
  fs.arm({.op = Op::kLink, .status = cannot("Invalid cross-device link")});
  const auto carried = link_or_copy(fs, "/", "a", "/b");
  ASSERT_TRUE(carried.ok()) << carried.status().to_string();
  EXPECT_EQ(carried->method, LinkMethod::kCopy) << "MemFs has no clones";
  EXPECT_EQ(carried->reason, "Invalid cross-device link");
  const bool equal = get_text(memory, "/b") == text;
  EXPECT_TRUE(equal);
  const std::vector<Call> calls = fs.calls();
  EXPECT_EQ(std::count(calls.begin(), calls.end(), Call{Op::kDatasync, "/b"}), 1) << "a copy is synced";
}

TEST(LinkOrCopy, ReportsOtherErrorsInsteadOfFallingBack) {
  for (const Op op : {Op::kLink, Op::kReflink}) {
    for (const int error : {EIO, ENOSPC, EDQUOT, EACCES, EROFS}) {
      MemFs memory;
      ASSERT_TRUE(put_text(memory, "/a", "x").ok());
      FailingFs inner(memory), fs(static_cast<Fs&>(inner));
      inner.arm({
          .op = Op::kLink,
          .status = op == Op::kReflink ? std::optional(cannot("no")) : std::nullopt,
      });
      if (op == Op::kReflink)
        fs.arm({.op = Op::kReflink, .error = error});
      else
        fs.arm({.op = Op::kLink, .error = error});
      EXPECT_EQ(link_or_copy(fs, "/", "a", "/b").status().code, Code::kFailed) << op_name(op) << " " << error;
      EXPECT_EQ(memory.stat("/b").status().code, Code::kNotFound);
    }
  }
}

TEST(LinkOrCopy, AnyFailedCallOfACopyLeavesNothingAndNeverSyncsTwice) {
  for (std::uint64_t k = 1;; ++k) {
    MemFs memory;
    ASSERT_TRUE(put_text(memory, "/a", "content").ok());
    FailingFs inner(memory), fs(static_cast<Fs&>(inner));
    inner.arm({.op = Op::kLink, .status = cannot("no")});
    fs.arm({.k = k, .error = ENOSPC});
    const auto carried = link_or_copy(fs, "/", "a", "/b");
    EXPECT_FALSE(fs.synced_after_failure());
    EXPECT_EQ(get_text(memory, "/a"), "content");
    if (!fs.fired()) {
      EXPECT_TRUE(carried.ok());
      EXPECT_GT(k, 8u);
      break;
    }
    ASSERT_FALSE(carried.ok()) << "call " << k;
    EXPECT_EQ(carried.status().code, Code::kFailed);
    const std::string last = fs.calls().back().path;
    EXPECT_TRUE(!memory.stat("/b").ok() || last == "/a")
        << "call " << k << ": only the close of the source comes after /b is whole";
  }
}

TEST(LinkOrCopy, ACopyIsReadOnlyAndALinkIsLeftAsItIs) {
  MemFs memory;
  ASSERT_TRUE(put_text(memory, "/a", "content").ok());
  FailingFs fs(memory);
  ASSERT_TRUE(link_or_copy(fs, "/", "a", "/linked").ok());
  EXPECT_TRUE(memory.stat("/linked")->writable) << "whoever made the file decided";
  fs.arm({.op = Op::kLink, .status = cannot("Operation not permitted")});
  ASSERT_TRUE(link_or_copy(fs, "/", "a", "/copied").ok());
  EXPECT_FALSE(memory.stat("/copied")->writable);
  EXPECT_TRUE(memory.stat("/a")->writable) << "the source is never changed";
}

TEST(LinkOrCopy, AStoreWithoutPermissionsIsNoError) {
  MemFs memory;
  ASSERT_TRUE(put_text(memory, "/a", "content").ok());
  FailingFs inner(memory), fs(static_cast<Fs&>(inner));
  inner.arm({.op = Op::kLink, .status = cannot("no")});
  fs.arm({.op = Op::kSetReadOnly, .status = unsupported("no permissions here")});
  EXPECT_TRUE(link_or_copy(fs, "/", "a", "/b").ok());
  fs.arm({.op = Op::kSetReadOnly, .status = failed("read-only file system")});
  inner.arm({.op = Op::kLink, .status = cannot("no")});
  EXPECT_EQ(link_or_copy(fs, "/", "a", "/c").status().code, Code::kFailed);
  EXPECT_EQ(memory.stat("/c").status().code, Code::kNotFound);
}

TEST(LinkOrCopy, NothingBehindALinkIsCarried) {
  MemFs fs;
  ASSERT_TRUE(put_text(fs, "/outside/secret", "secret").ok());
  ASSERT_TRUE(fs.make_dir("/src").ok());
  ASSERT_TRUE(fs.symlink("/outside", "/src/hf").ok());
  ASSERT_TRUE(fs.symlink("/outside/secret", "/src/file").ok());
  for (const char* member : {"hf/secret", "file"}) {
    EXPECT_EQ(link_or_copy(fs, "/src", member, "/b").status().code, Code::kCorrupt) << member;
    EXPECT_EQ(fs.stat("/b").status().code, Code::kNotFound);
  }
}

TEST(LinkOrCopy, NeverReplacesAndNeedsASource) {
  MemFs fs;
  ASSERT_TRUE(put_text(fs, "/a", "new").ok());
  ASSERT_TRUE(put_text(fs, "/b", "old").ok());
  EXPECT_EQ(link_or_copy(fs, "/", "a", "/b").status().code, Code::kFailed);
  EXPECT_EQ(get_text(fs, "/b"), "old");
  EXPECT_EQ(link_or_copy(fs, "/", "none", "/c").status().code, Code::kNotFound);
}

TEST(PosixFs, ALinkSharesTheInodeAndKeepsBytesTimeAndMode) {
  TempDir dir;
  Fs& fs = posix_fs();
  ASSERT_TRUE(put_text(fs, dir / "a", "content").ok());
  ASSERT_EQ(::chmod((dir / "a").c_str(), 0444), 0);
  const auto before = fs.stat(dir / "a");
  const auto carried = link_or_copy(fs, dir.path(), "a", dir / "b");
  ASSERT_TRUE(carried.ok()) << carried.status().to_string();
  EXPECT_EQ(carried->method, LinkMethod::kLink);
  EXPECT_TRUE(std::filesystem::equivalent(dir / "a", dir / "b"));
  EXPECT_EQ(fs.stat(dir / "a")->mtime_ns, before->mtime_ns);
  struct stat info {};
  ASSERT_EQ(::stat((dir / "a").c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 0777, 0444u);
  EXPECT_EQ(info.st_nlink, 2u);
}

// Where the machine has a second file system in memory; a copy is what any two file systems have in common.
TEST(PosixFs, AcrossFileSystemsCarryingCopiesAndSaysWhy) {
  TempDir dir;
  char name[] = "/dev/shm/titan-carry-XXXXXX";
  ASSERT_NE(::mkdtemp(name), nullptr) << "this test needs /dev/shm";
  const std::string other = name;
  Fs& fs = posix_fs();
  ASSERT_TRUE(put_text(fs, dir / "a", "content").ok());
  const auto carried = link_or_copy(fs, dir.path(), "a", other + "/b");
  const std::string text = get_text(fs, other + "/b");
  ASSERT_TRUE(remove_tree(fs, other).ok());
  ASSERT_TRUE(carried.ok()) << carried.status().to_string();
  EXPECT_EQ(carried->method, LinkMethod::kCopy);
  EXPECT_THAT(carried->reason, HasSubstr("cross-device"));
  EXPECT_EQ(text, "content");
}

TEST(PosixFs, AReflinkIsAFileOfItsOwnOrSaysThatItCannot) {
  TempDir dir;
  Fs& fs = posix_fs();
  ASSERT_TRUE(put_text(fs, dir / "a", "content").ok());
  const Status status = fs.reflink(dir / "a", dir / "b");
  if (status.ok()) {
    EXPECT_EQ(get_text(fs, dir / "b"), "content");
    EXPECT_FALSE(std::filesystem::equivalent(dir / "a", dir / "b"));
  } else {
    EXPECT_EQ(status.code, Code::kUnsupported) << status.to_string();
    EXPECT_EQ(fs.stat(dir / "b").status().code, Code::kNotFound);
  }
  EXPECT_EQ(fs.reflink(dir / "none", dir / "c").code, Code::kNotFound);
}

}  // namespace
}  // namespace titan::ckpt::link_or_copy_test
