#include "libtrain/job/data/mapped_file.h"

#include <gtest/gtest.h>
#include <sys/mman.h>

#include <fstream>
#include <vector>

#include "tests/support/scratch_dir.h"

namespace titan::train::mapped_file_test {
namespace {

std::string text_of(const MappedFile& file) {
  return {reinterpret_cast<const char*>(file.bytes().data()), file.bytes().size()};
}

TEST(MappedFile, MapsContentAndSurvivesMoves) {
  const ScratchDir dir;
  auto opened = MappedFile::open(dir.write("f", "content"));
  ASSERT_TRUE(opened.ok()) << opened.status().to_string();
  MappedFile moved = std::move(opened).value();
  EXPECT_EQ(text_of(moved), "content");
  auto other = MappedFile::open(dir.write("g", "other"));
  ASSERT_TRUE(other.ok()) << other.status().to_string();
  moved = std::move(other).value();
  EXPECT_EQ(text_of(moved), "other");
  EXPECT_EQ(moved.path(), dir / "g");
}

TEST(MappedFile, MapsAnEmptyFileToNothing) {
  const ScratchDir dir;
  const auto opened = MappedFile::open(dir.write("f", ""));
  ASSERT_TRUE(opened.ok()) << opened.status().to_string();
  EXPECT_TRUE(opened->bytes().empty());
}

TEST(MappedFile, RefusesFoldersAndMissingFiles) {
  const ScratchDir dir;
  const struct {
    std::string path, message;
  } cases[] = {{dir.path(), "not a regular file"},
               {dir / "none", "does not exist"},
               {dir.write("f", "x") + "/below", "does not exist"}};
  for (const auto& c : cases) {
    const auto opened = MappedFile::open(c.path);
    ASSERT_FALSE(opened.ok()) << c.path;
    EXPECT_EQ(opened.status().code, ckpt::Code::kInvalid);
    EXPECT_NE(opened.status().message.find(c.message), std::string::npos) << opened.status().message;
  }
}

TEST(MappedFile, LeavesMappingsForTheRestOfTheProcess) {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  GTEST_SKIP() << "a sanitizer maps memory of its own";
#endif
  std::size_t allowed = 0;
  if (!(std::ifstream("/proc/sys/vm/max_map_count") >> allowed) || allowed > 100000) GTEST_SKIP() << "too many to try";
  const ScratchDir dir;
  const std::string path = dir.write("f", "content");
  std::vector<MappedFile> held;
  held.reserve(allowed);
  ckpt::Status refused;
  while (refused.ok() && held.size() < allowed) {
    auto opened = MappedFile::open(path);
    if (opened.ok())
      held.push_back(std::move(opened).value());
    else
      refused = opened.status();
  }
  ASSERT_EQ(refused.code, ckpt::Code::kFailed);
  std::vector<void*> others;
  const std::size_t size = 1 << 16;
  while (others.size() < 2000) {  // alternating rights, so that the kernel joins no two
    void* const more = ::mmap(nullptr, size, others.size() % 2 == 0 ? PROT_READ : PROT_READ | PROT_WRITE,
                              MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    ASSERT_NE(more, MAP_FAILED) << others.size();
    others.push_back(more);
  }
  for (void* const more : others) ::munmap(more, size);
  held.clear();
  EXPECT_TRUE(MappedFile::open(path).ok());
}

}  // namespace
}  // namespace titan::train::mapped_file_test
