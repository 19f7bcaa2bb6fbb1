#include "ckpt/base/helpers.h"

#include <gtest/gtest.h>

#include <atomic>
#include <new>
#include <stdexcept>

#include "tests/support/few_threads.h"

namespace titan::ckpt::helpers_test {
namespace {

TEST(Helpers, AreJoinedWhenTheyGo) {
  std::atomic<int> done = 0;
  {
    Helpers helpers;
    EXPECT_TRUE(helpers.empty());
    for (int i = 0; i < 3; ++i) EXPECT_TRUE(helpers.start([&] { ++done; }));
    EXPECT_FALSE(helpers.empty());
  }
  EXPECT_EQ(done, 3);
}

TEST(Helpers, SayNoWhereThereIsNoThread) {
  const testing::FewThreads few(1);
  std::atomic<int> done = 0;
  Helpers helpers;
  EXPECT_TRUE(helpers.start([&] { ++done; }));
  EXPECT_FALSE(helpers.start([&] { ++done; }));
  helpers.join();
  EXPECT_EQ(done, 1);
  EXPECT_TRUE(helpers.empty());
}

TEST(Contained, AnExceptionBecomesAStatus) {
  EXPECT_TRUE(contained([] { return ok_status(); }).ok());
  EXPECT_EQ(contained([] { return not_found("x"); }), not_found("x"));
  EXPECT_EQ(contained([]() -> Status { throw std::bad_alloc(); }), failed("out of memory"));
  EXPECT_EQ(contained([]() -> Status { throw std::runtime_error("no luck"); }), failed("no luck"));
}

}  // namespace
}  // namespace titan::ckpt::helpers_test
