#include "libtrain/job/launch/process_limits.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>

namespace titan::train::process_limits_test {
namespace {

TEST(ProcessLimits, RefusesTooFewOpenFilesWithTheCommandThatHelps) {
  EXPECT_TRUE(check_open_files(kLeastOpenFiles).ok());
  EXPECT_TRUE(check_open_files(RLIM_INFINITY).ok());
  const ckpt::Status few = check_open_files(kLeastOpenFiles - 1);
  EXPECT_EQ(few.code, ckpt::Code::kFailed);
  EXPECT_THAT(few.message, ::testing::HasSubstr("63 files"));
  EXPECT_EQ(few.hint, "ulimit -n 1024");
}

TEST(ProcessLimits, LooksAtTheLimitOfThisProcess) {
  rlimit old{};
  ASSERT_EQ(::getrlimit(RLIMIT_NOFILE, &old), 0);
  rlimit few = old;
  few.rlim_cur = 40;
  ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &few), 0);
  const ckpt::Status status = check_process_limits();
  ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &old), 0);
  EXPECT_THAT(status.message, ::testing::HasSubstr("40 files"));
}

}  // namespace
}  // namespace titan::train::process_limits_test
