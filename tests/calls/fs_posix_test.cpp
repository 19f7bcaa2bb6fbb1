// What PosixFs asks of the kernel. MemFs and FailingFs hold the order of calls; that they become system calls is seen
// here.
#include "ckpt/base/fs_posix.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cerrno>
#include <functional>

#include "ckpt/base/aligned_buffer.h"
#include "ckpt/base/fs.h"
#include "tests/calls/kernel.h"
#include "tests/support/checkpoints.h"
#include "tests/support/files.h"

namespace titan::ckpt::fs_posix_test {
namespace {

using test::Kernel;
using ::testing::HasSubstr;
using testing::TempDir;

constexpr std::string_view kText = "0123456789";

std::unique_ptr<File> made(const std::string& path) {
  auto file = posix_fs().create(path);
  EXPECT_TRUE(file.ok() && (*file)->pwrite(0, std::as_bytes(std::span(kText))).ok());
  return std::move(file).value();
}

TEST(PosixCalls, DatasyncIsAnFdatasyncOfTheFile) {
  const TempDir dir;
  const auto file = made(dir / "f");
  const Kernel kernel(dir.path());
  EXPECT_TRUE(file->datasync().ok());
  EXPECT_THAT(kernel.calls(), ::testing::ElementsAre("fdatasync " + dir / "f"));
}

TEST(PosixCalls, SyncDirIsAnFsyncOfTheFolder) {
  const TempDir dir;
  const Kernel kernel(dir.path());
  EXPECT_TRUE(posix_fs().sync_dir(dir.path()).ok());
  EXPECT_EQ(kernel.count("fsync", dir.path()), 1u);
  EXPECT_EQ(kernel.count("close", dir.path()), 1u);
}

TEST(PosixCalls, AFailedFsyncOfAFolderIsSaid) {
  const TempDir dir;
  for (const char* call : {"fsync", "close"}) {
    Kernel kernel(dir.path());
    kernel.fail(call, EIO);
    const Status status = posix_fs().sync_dir(dir.path());
    EXPECT_EQ(status.code, Code::kFailed) << call;
    EXPECT_THAT(status.message, HasSubstr(dir.path())) << call;
  }
}

// Linux marks the pages clean after it has reported the error once.
TEST(PosixCalls, AFailedFdatasyncIsNeverForgotten) {
  const TempDir dir;
  const auto file = made(dir / "f");
  Kernel kernel(dir.path());
  kernel.fail("fdatasync", EIO);
  const Status first = file->datasync();
  EXPECT_EQ(first.code, Code::kFailed);
  EXPECT_EQ(file->datasync(), first);
  EXPECT_EQ(kernel.count("fdatasync", dir / "f"), 1u) << "asked again it would have said that all is well";
}

/// One use of PosixFs in a folder that has file "f" and folder "d".
struct Use {
  const char* call;
  std::function<Status(Fs&, const TempDir&)> run;
};

TEST(PosixCalls, WhatASignalInterruptsIsRepeated) {
  const auto of_file = [](auto act) { return [act](Fs&, const TempDir& dir) { return act(*made(dir / "fresh")); }; };
  std::byte byte{};
  const std::vector<Use> uses = {
      {"open", [](Fs& fs, const TempDir& dir) { return fs.create(dir / "fresh").status(); }},
      {"open", [](Fs& fs, const TempDir& dir) { return fs.open_read(dir / "f").status(); }},
      {"open", [](Fs& fs, const TempDir& dir) { return fs.sync_dir(dir / "d"); }},
      {"open", [](Fs& fs, const TempDir& dir) { return fs.lock(dir / "lock").status(); }},
      {"flock", [](Fs& fs, const TempDir& dir) { return fs.lock(dir / "lock").status(); }},
      {"fsync", [](Fs& fs, const TempDir& dir) { return fs.sync_dir(dir / "d"); }},
      {"close", [](Fs& fs, const TempDir& dir) { return fs.sync_dir(dir / "d"); }},
      {"statvfs", [](Fs& fs, const TempDir& dir) { return fs.free_bytes(dir / "d").status(); }},
      {"pread", of_file([&byte](File& file) {
         return file.pread(0, {&byte, 1});
       })},
      {"pwrite", of_file([&byte](File& file) {
         return file.pwrite(0, {&byte, 1});
       })},
      {"ftruncate", of_file([](File& file) { return file.truncate(1); })},
      {"fdatasync", of_file([](File& file) { return file.datasync(); })},
      {"close", of_file([](File& file) { return file.close(); })},
      {"pread",
       [&byte](Fs& fs, const TempDir& dir) {
         auto file = fs.open_scan(dir / "f");
         return file.ok() ? (*file)->pread(0, {&byte, 1}) : file.status();
       }},
  };
  for (const Use& use : uses) {
    const TempDir dir;
    (void)made(dir / "f");
    ASSERT_TRUE(posix_fs().make_dir(dir / "d").ok());
    Kernel kernel(dir.path());
    kernel.fail(use.call, EINTR);
    const Status status = use.run(posix_fs(), dir);
    EXPECT_TRUE(status.ok()) << use.call << ": " << status.to_string();
    EXPECT_TRUE(kernel.failed()) << use.call << " was not called";
  }
}

// After EINTR the descriptor is gone on Linux, and its number may be another file's.
TEST(PosixCalls, AnInterruptedCloseIsNotRepeated) {
  const TempDir dir;
  const auto file = made(dir / "f");
  Kernel kernel(dir.path());
  kernel.fail("close", EINTR);
  EXPECT_TRUE(file->close().ok());
  EXPECT_EQ(kernel.count("close", dir / "f"), 1u);
}

TEST(PosixCalls, AFailedCloseOfAFileIsSaid) {
  const TempDir dir;
  const auto file = made(dir / "f");
  Kernel kernel(dir.path());
  kernel.fail("close", EDQUOT);
  EXPECT_THAT(file->close().message, HasSubstr("disk full"));
}

TEST(PosixCalls, AWriteThatTakesNothingIsAnError) {
  const TempDir dir;
  const auto file = made(dir / "f");
  Kernel kernel(dir.path());
  kernel.fail("pwrite", 0);
  EXPECT_THAT(file->pwrite(0, std::as_bytes(std::span(kText))).message, HasSubstr("nothing was written"));
}

std::unique_ptr<File> made_large(const std::string& path) {
  auto file = posix_fs().create_large(path);
  EXPECT_TRUE(file.ok()) << file.status().to_string();
  return std::move(file).value();
}

TEST(PosixCalls, ALargeFileTakesItsSpaceAtOnce) {
  const TempDir dir;
  const auto file = made_large(dir / "f");
  Kernel kernel(dir.path());
  kernel.fail("fallocate", ENOSPC);
  EXPECT_THAT(file->truncate(1 << 20).message, HasSubstr("disk full"));
}

TEST(PosixCalls, AStoreThatCannotTakeSpaceAheadGivesItAsItIsWritten) {
  for (const int error : {EOPNOTSUPP, ENOSYS}) {
    const TempDir dir;
    const auto file = made_large(dir / "f");
    Kernel kernel(dir.path());
    kernel.fail("fallocate", error);
    EXPECT_TRUE(file->truncate(1 << 20).ok()) << error;
    EXPECT_EQ(*file->size(), 1u << 20);
  }
}

TEST(PosixCalls, WhatAStoreRefusesPastTheCacheGoesThroughIt) {
  const TempDir dir;
  const auto file = made_large(dir / "f");
  AlignedBuffer bytes(2 * kScanAlignment);
  Kernel kernel(dir.path());
  kernel.fail("pwrite", EINVAL);
  ASSERT_TRUE(file->pwrite(0, bytes.all()).ok());
  ASSERT_TRUE(file->pwrite(bytes.all().size(), bytes.all()).ok());
  EXPECT_EQ(kernel.count("pwrite", dir / "f"), 3u) << "refused once, then not tried again";
  EXPECT_TRUE(posix_fs().refused_uncached());
  kernel.fail("pwrite", EIO);
  EXPECT_EQ(file->pwrite(0, bytes.all()).code, Code::kFailed);
}

// Half a listing would pass for a run with fewer steps.
TEST(PosixCalls, AListingThatBreaksOffIsAnError) {
  const TempDir dir;
  (void)made(dir / "a");
  Kernel kernel(dir.path());
  kernel.fail("readdir", EBADF);
  const auto listed = posix_fs().list(dir.path());
  EXPECT_EQ(listed.status().code, Code::kFailed);
  EXPECT_THAT(listed.status().message, HasSubstr("readdir"));
}

TEST(PosixCalls, AReflinkIsDurableBeforeItCounts) {
  const TempDir dir;
  (void)made(dir / "f");
  {
    Kernel kernel(dir.path());
    kernel.clone_works();
    EXPECT_TRUE(posix_fs().reflink(dir / "f", dir / "clone").ok());
    EXPECT_EQ(kernel.count("fdatasync", dir / "clone"), 1u);
  }
  Kernel kernel(dir.path());
  kernel.clone_works();
  kernel.fail("fdatasync", EIO);
  EXPECT_EQ(posix_fs().reflink(dir / "f", dir / "other").code, Code::kFailed);
  EXPECT_EQ(posix_fs().stat(dir / "other").status().code, Code::kNotFound) << "nothing half-made stays";
}

// The whole protocol as the kernel sees it: each file and folder of the step is durable before the step has its name.
TEST(PosixCalls, ASaveSyncsEveryFileAndFolderBeforeTheStepHasItsName) {
  const TempDir dir;
  const Kernel kernel(dir.path());
  const Snapshot snapshot = testing::make_snapshot(testing::small_model(), {1, 2, 1}, 100, 10);
  const auto published = testing::save(posix_fs(), dir / "run", snapshot);
  ASSERT_TRUE(published.ok()) << published.status().to_string();
  const std::string tmp = dir / "run/step-00000010.tmp-0123456789ab";
  const std::size_t renamed = kernel.place("renameat2", tmp);
  ASSERT_LT(renamed, kernel.calls().size());
  std::size_t files = 0;
  for (const std::string& name : testing::tree(posix_fs(), published->path)) {
    const bool folder = name.ends_with('/');
    const std::string path = tmp + "/" +
                             (folder                    ? name.substr(0, name.size() - 1)
                              : name == "manifest.json" ? name + ".tmp"
                                                        : name);
    EXPECT_LT(kernel.place(folder ? "fsync" : "fdatasync", path), renamed) << name;
    files += !folder;
  }
  EXPECT_GE(files, 8u);
  EXPECT_LT(kernel.place("fsync", tmp), renamed);
  const std::vector<std::string> calls = kernel.calls();
  const auto after = calls.begin() + static_cast<std::ptrdiff_t>(renamed);
  const auto parent = std::find(after, calls.end(), "fsync " + dir / "run");
  EXPECT_LT(parent, std::find(after, calls.end(), "open " + dir / "run/latest.tmp"))
      << "the name is durable before latest says it";
}

// Another process put a full folder there between our look and our rename.
TEST(PosixCalls, AFullFolderThatComesInTheWayIsAnExistingTarget) {
  const TempDir dir;
  ASSERT_TRUE(posix_fs().make_dir(dir / "from").ok());
  const std::unique_ptr<Fs> fs = make_posix_fs(NoReplace::kFallback);
  Kernel kernel(dir.path());
  kernel.fail("rename", ENOTEMPTY);
  const Status status = fs->rename_noreplace(dir / "from", dir / "to");
  EXPECT_TRUE(kernel.failed());
  EXPECT_THAT(status.message, HasSubstr("the target exists"));
}

}  // namespace
}  // namespace titan::ckpt::fs_posix_test
