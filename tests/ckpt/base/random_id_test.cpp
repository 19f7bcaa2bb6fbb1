#include "ckpt/base/random_id.h"

#include <gtest/gtest.h>

#include <set>

namespace titan::ckpt::random_id_test {
namespace {

TEST(RandomId, IsAnotherOneEachTime) {
  std::set<std::string> seen;
  for (int i = 0; i < 1000; ++i) {
    const std::string id = random_id();
    EXPECT_EQ(id.size(), 12u);
    EXPECT_EQ(id.find_first_not_of("0123456789abcdef"), std::string::npos) << id;
    EXPECT_TRUE(seen.insert(id).second) << id;
  }
}

}  // namespace
}  // namespace titan::ckpt::random_id_test
