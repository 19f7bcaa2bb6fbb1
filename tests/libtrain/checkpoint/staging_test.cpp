#include "libtrain/checkpoint/staging.h"

#include <gtest/gtest.h>

namespace titan::train::staging_test {
namespace {

TEST(Staging, MakesNoMoreThanTheLimitAndUsesBuffersAgain) {
  Staging staging(100, 250);
  Staging::Buffer first = staging.take(), second = staging.take();
  ASSERT_TRUE(first && second);
  EXPECT_FALSE(staging.take()) << "300 bytes are more than 250";
  const std::byte* const memory = first.get();
  staging.give_back(std::move(first));
  EXPECT_EQ(staging.take().get(), memory);
  EXPECT_FALSE(Staging(100, 99).take());
}

}  // namespace
}  // namespace titan::train::staging_test
