#include "ckpt/base/scan_file.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <functional>
#include <memory>
#include <vector>

#include "ckpt/base/aligned_buffer.h"
#include "ckpt/base/files.h"
#include "ckpt/base/fs.h"
#include "ckpt/base/fs_posix.h"

namespace titan::ckpt::scan_file_test {
namespace {

constexpr std::size_t kLong = std::size_t{4} << 20;

class ScanFile : public ::testing::Test {
 protected:
  void SetUp() override {
    char name[] = "/tmp/titan-scan-XXXXXX";
    ASSERT_NE(mkdtemp(name), nullptr);
    folder_ = name;
    bytes_.resize(3 * kScanAlignment + 100);
    for (std::size_t i = 0; i < bytes_.size(); ++i) bytes_[i] = static_cast<char>(i * 31 + i / 251);
    std::ofstream(folder_ + "/file", std::ios::binary)
        .write(bytes_.data(), static_cast<std::streamsize>(bytes_.size()));
  }
  void TearDown() override { ASSERT_TRUE(remove_tree(posix_fs(), folder_).ok()); }

  std::string folder_;
  std::vector<char> bytes_;
};

TEST_F(ScanFile, ReadsTheSameBytesFromEveryOffsetIntoEveryBufferThroughAndPastTheCache) {
  for (const Access access : {Access::kScan, Access::kUncached}) {
    const auto file = posix_fs().open_member(folder_, "file", access);
    ASSERT_TRUE(file.ok()) << file.status().to_string();
    EXPECT_EQ(*(*file)->size(), bytes_.size());
    const std::unique_ptr<std::byte, decltype(&free)> memory(
        static_cast<std::byte*>(aligned_alloc(kScanAlignment, 5 * kScanAlignment)), free);
    for (const std::uint64_t offset : {std::uint64_t{0}, std::uint64_t{1}, kScanAlignment - 1, kScanAlignment,
                                       2 * kScanAlignment, bytes_.size() - 1}) {
      for (const std::size_t shift : {0, 1, 512}) {
        for (const std::size_t size :
             {std::size_t{1}, std::size_t{100}, std::size_t{kScanAlignment}, bytes_.size() - offset}) {
          if (offset + size > bytes_.size()) continue;
          const std::span<std::byte> out(memory.get() + shift, size);
          ASSERT_TRUE((*file)->pread(offset, out).ok()) << offset << " " << size;
          EXPECT_EQ(std::memcmp(out.data(), bytes_.data() + offset, size), 0) << offset << " " << shift << " " << size;
        }
      }
    }
  }
}

TEST_F(ScanFile, NamesTheEndOfAFileThatIsTooShort) {
  for (const Access access : {Access::kScan, Access::kUncached}) {
    const auto file = posix_fs().open_member(folder_, "file", access);
    std::vector<std::byte> out(200);
    const Status status = (*file)->pread(bytes_.size() - 100, out);
    EXPECT_EQ(status.code, Code::kCorrupt);
    EXPECT_THAT(status.message, ::testing::HasSubstr(std::to_string(bytes_.size())));
  }
}

TEST_F(ScanFile, IsForReadingOnlyAndOnlyForRegularFiles) {
  const auto file = posix_fs().open_scan(folder_ + "/file");
  EXPECT_EQ((*file)->pwrite(0, {}).code, Code::kFailed);
  EXPECT_EQ((*file)->truncate(0).code, Code::kFailed);
  EXPECT_EQ(posix_fs().open_scan(folder_ + "/nothing").status().code, Code::kNotFound);
  EXPECT_EQ(posix_fs().open_scan(folder_).status().code, Code::kFailed);
}

// What is asked for past the cache does not enter it, not even where a part of it is there. (A tmpfs has nothing else.)
TEST_F(ScanFile, LeavesTheCacheAsItIs) {
  const std::string path = folder_ + "/long";
  std::ofstream(path, std::ios::binary) << std::string(kLong, 'x');
  const int fd = ::open(path.c_str(), O_RDONLY | O_DIRECT | O_CLOEXEC);
  if (fd < 0) GTEST_SKIP() << "this store has no O_DIRECT";
  const auto in_memory = [&] {
    const std::unique_ptr<void, std::function<void(void*)>> map(::mmap(nullptr, kLong, PROT_READ, MAP_SHARED, fd, 0),
                                                                [](void* at) { (void)::munmap(at, kLong); });
    std::vector<unsigned char> pages(kLong / kScanAlignment);
    EXPECT_EQ(::mincore(map.get(), kLong, pages.data()), 0);
    return std::count_if(pages.begin(), pages.end(), [](unsigned char page) { return (page & 1) != 0; });
  };
  ASSERT_TRUE(::fsync(fd) == 0 && ::posix_fadvise(fd, 0, 0, POSIX_FADV_DONTNEED) == 0);
  const std::unique_ptr<std::byte, decltype(&free)> memory(
      static_cast<std::byte*>(aligned_alloc(kScanAlignment, kLong)), free);
  const auto read = [&](Access access) {
    const auto file = posix_fs().open_member(folder_, "long", access);
    for (std::size_t at = 0; at < kLong; at += kLong / 8)
      EXPECT_TRUE((*file)->pread(at, {memory.get(), kLong / 8}).ok());
  };
  read(Access::kUncached);
  EXPECT_EQ(in_memory(), 0);
  char header = 0;
  { std::ifstream(path, std::ios::binary).get(header); }
  const auto some = in_memory();
  if (some == 0 || some > 512) GTEST_SKIP() << "this kernel keeps " << some << " pages of a read";
  read(Access::kUncached);
  EXPECT_LT(in_memory(), some + 64);
  constexpr long kCachestat = 451;
  if (::syscall(kCachestat, -1, nullptr, nullptr, 0) == -1 && errno != EBADF) return;  // a kernel before 6.5
  read(Access::kScan);
  EXPECT_LT(in_memory(), some + 64) << "a header in memory draws in no more";
}

TEST_F(ScanFile, ReadsALongRunPastTheCacheFromAnOddOffset) {
  std::string text(3'000'001, '\0');
  for (std::size_t i = 0; i < text.size(); ++i) text[i] = static_cast<char>(i % 253);
  std::ofstream(folder_ + "/long", std::ios::binary) << text;
  const auto file = posix_fs().open_member(folder_, "long", Access::kUncached);
  ASSERT_TRUE(file.ok());
  std::string read(text.size() - 7, '?');
  ASSERT_TRUE((*file)->pread(7, std::as_writable_bytes(std::span(read))).ok());
  EXPECT_EQ(read, text.substr(7));
}

}  // namespace
}  // namespace titan::ckpt::scan_file_test
