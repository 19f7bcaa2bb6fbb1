// What only the real file system has: links, FIFOs, processes, errno.
#include "ckpt/base/fs_posix.h"
#include "ckpt/base/errno_status.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <new>

#include "ckpt/base/aligned_buffer.h"
#include "ckpt/base/files.h"
#include "ckpt/base/fs.h"
#include "tests/support/child.h"
#include "tests/support/files.h"

namespace {
thread_local std::size_t allocations = 0;
}

// Counts what a thread asks for.
void* operator new(std::size_t size) {
  ++allocations;
  if (void* const memory = std::malloc(size > 0 ? size : 1)) return memory;
  throw std::bad_alloc();
}
void* operator new(std::size_t size, const std::nothrow_t&) noexcept {
  ++allocations;
  return std::malloc(size > 0 ? size : 1);
}
void operator delete(void* memory) noexcept { std::free(memory); }
void operator delete(void* memory, std::size_t) noexcept { std::free(memory); }

namespace titan::ckpt::fs_posix_test {
namespace {

using testing::get_text;
using ::testing::HasSubstr;
using testing::put_text;
using testing::TempDir;

/// How many pages of the file are in memory.
std::size_t resident_pages(const std::string& path) {
  const int fd = ::open(path.c_str(), O_RDONLY);
  const std::size_t bytes = static_cast<std::size_t>(::lseek(fd, 0, SEEK_END));
  void* const map = ::mmap(nullptr, bytes, PROT_READ, MAP_SHARED, fd, 0);
  std::vector<unsigned char> pages((bytes + kScanAlignment - 1) / kScanAlignment);
  EXPECT_EQ(::mincore(map, bytes, pages.data()), 0);
  ::munmap(map, bytes);
  ::close(fd);
  return static_cast<std::size_t>(std::count_if(pages.begin(), pages.end(), [](int page) { return page & 1; }));
}

TEST(PosixFs, NeverFollowsASymbolicLinkToAFile) {
  TempDir dir;
  Fs& fs = posix_fs();
  ASSERT_TRUE(put_text(fs, dir / "real", "x").ok());
  std::filesystem::create_symlink("real", dir / "link");
  std::filesystem::create_symlink("missing", dir / "dangling");
  EXPECT_EQ(fs.open_read(dir / "link").status().code, Code::kFailed);
  EXPECT_EQ(fs.create(dir / "dangling").status().code, Code::kFailed);
  EXPECT_EQ(fs.lock(dir / "link").status().code, Code::kFailed);
  EXPECT_EQ(fs.stat(dir / "link")->type, FileType::kLink);
  EXPECT_EQ(fs.stat(dir / "missing").status().code, Code::kNotFound) << "nothing came into being behind the link";
}

TEST(PosixFs, AWriteThatSucceedsMakesNoText) {
  // An error's text, made between the call and the look at errno, takes memory for every write.
  const TempDir dir;
  const auto file = std::move(posix_fs().create(dir / "f")).value();
  const std::vector<std::byte> data(1000);
  const std::size_t before = allocations;
  const Status written = file->pwrite(123'456'789, data);
  EXPECT_EQ(allocations, before);
  EXPECT_TRUE(written.ok()) << written.to_string();
}

TEST(PosixFs, ALargeFileHoldsWhatWasWrittenWhereverItLay) {
  const TempDir dir;
  const auto file = std::move(posix_fs().create_large(dir / "f")).value();
  constexpr std::size_t kBytes = 40 * kScanAlignment;
  ASSERT_TRUE(file->truncate(kBytes).ok());
  AlignedBuffer memory(8 * kScanAlignment);
  std::vector<std::byte> expected(kBytes);
  int value = 1;
  for (const std::size_t offset : {std::size_t{0}, std::size_t{100}, std::size_t{kScanAlignment},
                                   3 * kScanAlignment + 1, 8 * kScanAlignment, 20 * kScanAlignment - 1}) {
    for (const std::size_t shift : {0, 64, 512}) {
      for (const std::size_t size : {std::size_t{1}, std::size_t{kScanAlignment - 1}, std::size_t{kScanAlignment},
                                     2 * kScanAlignment + 77, 7 * kScanAlignment}) {
        const auto bytes = memory.all().subspan(shift, size);
        std::fill(bytes.begin(), bytes.end(), static_cast<std::byte>(value++));
        ASSERT_TRUE(file->pwrite(offset, bytes).ok()) << offset << " " << shift << " " << size;
        std::copy(bytes.begin(), bytes.end(), expected.begin() + static_cast<std::ptrdiff_t>(offset));
      }
    }
  }
  ASSERT_TRUE(file->datasync().ok());
  ASSERT_TRUE(file->close().ok());
  EXPECT_EQ(*read_file(posix_fs(), dir / "f", kBytes), expected);
}

TEST(PosixFs, WholeBlocksOfALargeFileLeaveThePageCacheAlone) {
  const TempDir dir;
  const auto file = std::move(posix_fs().create_large(dir / "f")).value();
  AlignedBuffer memory(9 * kScanAlignment);
  const auto bytes = memory.first(8 * kScanAlignment + 10);
  std::fill(bytes.begin(), bytes.end(), std::byte{1});
  ASSERT_TRUE(file->pwrite(0, bytes).ok());
  EXPECT_EQ(*file->size(), bytes.size());
  const int fd = ::open((dir / "f").c_str(), O_RDONLY | O_DIRECT);
  if (fd < 0) GTEST_SKIP() << "this store writes through the page cache only";
  ::close(fd);
  EXPECT_EQ(resident_pages(dir / "f"), 1u) << "the tail alone";
}

TEST(PosixFs, RemoveTreeRemovesLinksAndNotWhatTheyLeadTo) {
  TempDir dir;
  Fs& fs = posix_fs();
  ASSERT_TRUE(put_text(fs, dir / "outside/f", "x").ok());
  ASSERT_TRUE(fs.make_dir(dir / "tree").ok());
  std::filesystem::create_directory_symlink("../outside", dir / "tree/link");
  ASSERT_TRUE(remove_tree(fs, dir / "tree").ok());
  EXPECT_EQ(get_text(fs, dir / "outside/f"), "x");
}

TEST(PosixFs, AFifoUnderTheNameDoesNotBlockTheReader) {
  TempDir dir;
  ASSERT_EQ(::mkfifo((dir / "fifo").c_str(), 0600), 0);
  EXPECT_EQ(posix_fs().open_read(dir / "fifo").status().code, Code::kFailed);
}

TEST(PosixFs, DescriptorsAreNotInheritedByChildren) {
  TempDir dir;
  auto file = posix_fs().create(dir / "f");
  ASSERT_TRUE(file.ok());
  const std::string command = "ls -l /proc/self/fd | grep -c '" + dir.path() + "' >/dev/null && exit 1 || exit 0";
  EXPECT_EQ(std::system(command.c_str()), 0);
}

TEST(PosixFs, ALockDiesWithItsProcess) {
  TempDir dir;
  testing::Child child([&dir]() -> std::unique_ptr<FileLock> {
    auto lock = posix_fs().lock(dir / "lock");
    return lock.ok() && (*lock)->write("the child").ok() ? std::move(lock).value() : nullptr;
  });
  ASSERT_TRUE(child.ready());
  auto refused = posix_fs().lock(dir / "lock");
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.status().code, Code::kLocked);
  EXPECT_THAT(refused.status().causes, ::testing::ElementsAre("the child"));
  child.kill();
  EXPECT_TRUE(posix_fs().lock(dir / "lock").ok());
}

TEST(PosixFs, MessagesNamePathCallAndReason) {
  TempDir dir;
  Status status = posix_fs().make_dir(dir / "no/d");
  EXPECT_THAT(status.message, HasSubstr(dir / "no/d"));
  EXPECT_THAT(status.message, HasSubstr("mkdir"));
  EXPECT_THAT(status.message, HasSubstr("No such file or directory"));
}

TEST(PosixFs, OnlyAnErrorOfTheStoreWhileReadingIsAMediaError) {
  for (const int error : {EIO, ENODATA}) EXPECT_EQ(read_errno_status(error, "/f", "pread").code, Code::kMediaError);
  for (const int error : {EACCES, EMFILE, ENOMEM, ESTALE, ENOSPC})
    EXPECT_EQ(read_errno_status(error, "/f", "pread").code, Code::kFailed);
  EXPECT_EQ(errno_status(EIO, "/f", "pwrite").code, Code::kFailed)
      << "a write that failed says nothing of what is stored";
}

TEST(PosixFs, AReadOnlyFileKeepsWhatTheUmaskAllows) {
  TempDir dir;
  for (const auto& [mask, mode] : {std::pair<mode_t, mode_t>{022, 0444}, {077, 0400}, {027, 0440}}) {
    const mode_t before = ::umask(mask);
    auto file = posix_fs().create(dir / std::to_string(mask));
    ::umask(before);
    ASSERT_TRUE(file.ok());
    ASSERT_TRUE((*file)->set_read_only().ok());
    struct stat info {};
    ASSERT_EQ(::stat((dir / std::to_string(mask)).c_str(), &info), 0);
    EXPECT_EQ(info.st_mode & 07777, mode);
  }
}

TEST(PosixFs, NoInodesLeftIsNotCalledAFullDisk) {
  const Status none =
      full_status(ENOSPC, "/d/f", "create", SpaceLeft{.bytes = 20'742'144, .inodes = 40, .inodes_free = 0});
  EXPECT_EQ(none.message, "/d/f: create: no inodes left (No space left on device); 19.8 MiB free on this file system");
  EXPECT_THAT(none.hint, HasSubstr("df -i"));
  // Neither where bytes are missing, nor where the file system has no limit of inodes, nor for a quota.
  for (const SpaceLeft left : {SpaceLeft{.bytes = 0, .inodes = 40, .inodes_free = 0},
                               SpaceLeft{.bytes = 9, .inodes = 40, .inodes_free = 1}, SpaceLeft{.bytes = 9}})
    EXPECT_THAT(full_status(ENOSPC, "/d/f", "create", left).message, HasSubstr("disk full"));
  EXPECT_THAT(full_status(EDQUOT, "/d/f", "create", SpaceLeft{.bytes = 9, .inodes = 40, .inodes_free = 0}).hint,
              HasSubstr("quota"));
}

TEST(PosixFs, ALimitOfFileSizesSaysWhereToLook) {
  EXPECT_THAT(errno_status(EFBIG, "/d/f", "pwrite").hint, HasSubstr("ulimit -f"));
}

TEST(PosixFs, AFullDiskSaysHowMuchIsFreeAndWhatToDo) {
  TempDir dir;
  for (int error : {ENOSPC, EDQUOT}) {
    Status status = errno_status(error, dir / "not-there-yet", "pwrite");
    EXPECT_EQ(status.code, Code::kFailed);
    EXPECT_THAT(status.message, HasSubstr("disk full"));
    EXPECT_THAT(status.message, HasSubstr(" free on this file system"));
    EXPECT_FALSE(status.hint.empty());
  }
}

}  // namespace
}  // namespace titan::ckpt::fs_posix_test
