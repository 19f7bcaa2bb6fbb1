#include "ckpt/store/named_file.h"

#include <gmock/gmock.h>
#include <sys/stat.h>
#include <unistd.h>

#include "ckpt/base/fs_posix.h"
#include "tests/support/files.h"

namespace titan::ckpt::named_file_test {
namespace {

using ::testing::EndsWith;
using ::testing::StartsWith;

class NamedFile : public ::testing::Test {
 protected:
  Result<std::string> find(const std::string& name) { return named_file(posix_fs(), dir_ / name, "a key"); }
  std::string refused(const std::string& name) {
    const Status status = find(name).status();
    EXPECT_EQ(status.code, Code::kInvalid) << status.to_string();
    return status.message;
  }
  const testing::TempDir dir_;
};

TEST_F(NamedFile, AFileAndALinkToOne) {
  ASSERT_TRUE(testing::put_text(posix_fs(), dir_ / "key.pem", "text").ok());
  ASSERT_EQ(::symlink("key.pem", (dir_ / "link").c_str()), 0);
  EXPECT_EQ(*find("key.pem"), dir_ / "key.pem");
  EXPECT_THAT(*find("link"), EndsWith("/key.pem"));
}

TEST_F(NamedFile, NothingElse) {
  ASSERT_EQ(::mkdir((dir_ / "folder").c_str(), 0755), 0);
  ASSERT_EQ(::mkfifo((dir_ / "pipe").c_str(), 0644), 0);
  ASSERT_EQ(::symlink("gone", (dir_ / "dangling").c_str()), 0);
  ASSERT_EQ(::symlink("/dev/null", (dir_ / "null").c_str()), 0);
  EXPECT_THAT(refused("gone"), StartsWith("there is no file "));
  EXPECT_THAT(refused("folder"), EndsWith("folder is a folder, expected a key"));
  EXPECT_THAT(refused("pipe"), EndsWith("pipe is no regular file, expected a key"));
  EXPECT_THAT(refused("dangling"), EndsWith("dangling is a link that leads nowhere, expected a key"));
  EXPECT_THAT(refused("null"), EndsWith("null is no regular file, expected a key"));
}

TEST_F(NamedFile, ALinkThatLeadsToItselfHasItsOwnHint) {
  ASSERT_EQ(::symlink("loop", (dir_ / "loop").c_str()), 0);
  const Status status = find("loop").status();
  EXPECT_EQ(status.code, Code::kFailed);
  EXPECT_THAT(status.hint, EndsWith("remove it, or choose another place"));
}

}  // namespace
}  // namespace titan::ckpt::named_file_test
