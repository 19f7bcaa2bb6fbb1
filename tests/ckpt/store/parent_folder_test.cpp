#include "ckpt/store/parent_folder.h"

#include <gmock/gmock.h>

#include "tests/support/failing_fs.h"
#include "tests/support/files.h"
#include "tests/support/mem_fs.h"

namespace titan::ckpt::parent_folder_test {
namespace {

using ::testing::ElementsAre;
using testing::MemFs;

TEST(ParentFolder, IsTheOneThatIsThere) {
  MemFs fs;
  ASSERT_TRUE(fs.make_dir("/a").ok());
  const Result<Parent> parent = find_parent(fs, "/a/x");
  ASSERT_TRUE(parent.ok());
  EXPECT_EQ(parent->path, "/a");
  EXPECT_FALSE(parent->missing);
}

TEST(ParentFolder, MayBeMissingByOneLevel) {
  MemFs fs;
  ASSERT_TRUE(testing::put_text(fs, "/a/file", "text").ok());
  const Result<Parent> parent = find_parent(fs, "/a/new/x");
  ASSERT_TRUE(parent.ok());
  EXPECT_EQ(parent->real, "/a/new");
  EXPECT_TRUE(parent->missing);
  const Result<Parent> two = find_parent(fs, "/a/b/c/x");
  EXPECT_EQ(two.status().code, Code::kInvalid);
  EXPECT_EQ(two.status().hint, "mkdir -p /a/b/c");
  EXPECT_EQ(find_parent(fs, "/a/file/x").status().code, Code::kInvalid);
  EXPECT_EQ(find_parent(fs, "/a/file/new/x").status().code, Code::kInvalid);
}

TEST(ParentFolder, IsDurableOnceMadeAndGoesWhileItIsEmpty) {
  MemFs memory;
  ASSERT_TRUE(memory.make_dir("/a").ok());
  testing::FailingFs fs(memory);
  const Result<Parent> parent = find_parent(fs, "/a/new/x");
  ASSERT_TRUE(parent.ok());
  {
    MadeFolder made(fs);
    ASSERT_TRUE(made.make(*parent).ok());
    EXPECT_EQ(fs.calls().back(), (testing::Call{testing::Op::kSyncDir, "/a"}));
  }
  EXPECT_THAT(testing::tree(memory, "/"), ElementsAre("a/"));
  {
    MadeFolder made(fs);
    ASSERT_TRUE(made.make(*parent).ok());
    ASSERT_TRUE(testing::put_text(fs, "/a/new/x", "text").ok());
  }
  EXPECT_THAT(testing::tree(memory, "/"), ElementsAre("a/", "a/new/", "a/new/x"));
}

}  // namespace
}  // namespace titan::ckpt::parent_folder_test
