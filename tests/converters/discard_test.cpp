#include "converters/discard.h"

#include <gtest/gtest.h>

#include "converters/convert.h"
#include "tests/support/files.h"
#include "tests/support/make_checkpoint.h"
#include "tests/support/mem_fs.h"

namespace titan::convert::discard_test {
namespace {

TEST(Discard, KeepsNothing) {
  ckpt::testing::MemFs fs;
  ASSERT_TRUE(ckpt::testing::put_text(fs, "/a", "there").ok());
  Discard nowhere(fs);
  ASSERT_TRUE(nowhere.make_dir("/d").ok() && nowhere.sync_dir("/d").ok());
  const auto file = nowhere.create("/d/x");
  ASSERT_TRUE(file.ok());
  std::byte bytes[4] = {};
  EXPECT_TRUE((*file)->pwrite(1 << 20, bytes).ok() && (*file)->truncate(7).ok() && (*file)->datasync().ok());
  EXPECT_FALSE((*file)->pread(0, bytes).ok());
  EXPECT_FALSE(fs.stat("/d").ok());
  EXPECT_TRUE(nowhere.open_read("/a").ok()) << "what is there is read";
}

}  // namespace
}  // namespace titan::convert::discard_test
