#include "corpus/path_pattern.h"

#include <gmock/gmock.h>

#include "tests/support/files.h"
#include "tests/support/mem_fs.h"

namespace titan::corpus::path_pattern_test {
namespace {

using ckpt::testing::MemFs;
using ckpt::testing::put_text;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

TEST(PathPattern, FitsByNameInEachPart) {
  MemFs fs;
  for (const char* path : {"/d/b.txt", "/d/a.txt", "/d/.c.txt", "/e/a.txt", "/e/f/a.txt", "/file"})
    ASSERT_TRUE(put_text(fs, path, "x").ok());
  const auto found = [&](const std::string& pattern) { return *matching_paths(fs, pattern); };
  EXPECT_THAT(found("/d/*.txt"), ElementsAre("/d/a.txt", "/d/b.txt"));
  EXPECT_THAT(found("/*/a.txt"), ElementsAre("/d/a.txt", "/e/a.txt"));
  EXPECT_THAT(found("/[de]//?.txt"), ElementsAre("/d//a.txt", "/d//b.txt", "/e//a.txt"));
  EXPECT_THAT(found("/*/"), ElementsAre("/d/", "/e/"));
  EXPECT_THAT(found("/d/.*"), ElementsAre("/d/.c.txt"));
  for (const char* pattern : {"/d/*.pdf", "/file/*", "/none/*", "/", ""})
    EXPECT_THAT(found(pattern), IsEmpty()) << pattern;
}

TEST(PathPattern, ANameThatIsThereStandsForItself) {
  MemFs fs;
  for (const char* path : {"/tb[1]/x.txt", "/tb[1]/y.txt", "/tb1/x.txt", "/a/tb[1]/x.txt", "/a/*/x.txt"})
    ASSERT_TRUE(put_text(fs, path, "x").ok());
  const auto found = [&](const std::string& pattern) { return *matching_paths(fs, pattern); };
  EXPECT_THAT(found("/tb[1]/*.txt"), ElementsAre("/tb[1]/x.txt", "/tb[1]/y.txt"));
  EXPECT_THAT(found("/tb[12]/*.txt"), ElementsAre("/tb1/x.txt"));
  EXPECT_THAT(found("/?/tb[1]/?.txt"), ElementsAre("/a/tb[1]/x.txt")) << "behind a wildcard, too";
  EXPECT_THAT(found("/a/*/x.txt"), ElementsAre("/a/*/x.txt"));
}

}  // namespace
}  // namespace titan::corpus::path_pattern_test
