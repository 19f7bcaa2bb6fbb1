#include "libtrain/job/data/mapped_file.h"

#include <gtest/gtest.h>

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

}  // namespace
}  // namespace titan::train::mapped_file_test
