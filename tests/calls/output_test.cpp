// How the answer of a program gets out.
#include "cli/kit/output.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cerrno>

#include "ckpt/base/fs_posix.h"
#include "tests/calls/kernel.h"
#include "tests/support/files.h"

namespace titan::cli::output_test {
namespace {

TEST(DeliverCalls, AnInterruptedWriteIsRepeatedAndAFailedOneSaid) {
  const ckpt::testing::TempDir dir;
  const std::string path = dir / "out";
  const int fd = ::open(path.c_str(), O_RDWR | O_CREAT, 0600);
  ASSERT_GE(fd, 0);
  ckpt::Status status;
  {
    test::Kernel kernel(path);
    kernel.fail("write", EINTR);
    EXPECT_EQ(deliver(fd, "answer\n", &status), Delivery::kDone);
    EXPECT_TRUE(status.ok()) << status.to_string();
    EXPECT_EQ(kernel.count("write", path), 2u);
  }
  EXPECT_EQ(ckpt::testing::get_text(ckpt::posix_fs(), path), "answer\n");
  test::Kernel kernel(path);
  kernel.fail("write", ENOSPC);
  EXPECT_EQ(deliver(fd, "more\n", &status), Delivery::kDone);
  EXPECT_EQ(status.code, ckpt::Code::kFailed) << "a full disk under standard output is an error";
  ::close(fd);
}

}  // namespace
}  // namespace titan::cli::output_test
