#include "recipe/model/flavor.h"

#include <gtest/gtest.h>

namespace titan::recipe::flavor_test {
namespace {

TEST(Flavor, IsFoundByItsName) {
  ASSERT_NE(find_flavor("70B"), nullptr);
  EXPECT_EQ(find_flavor("70B")->n_layers, 80u);
  EXPECT_EQ(find_flavor("7B"), nullptr);
  EXPECT_EQ(find_flavor(""), nullptr);
  EXPECT_EQ(find_flavor("70B", kQwen3), nullptr);
  ASSERT_NE(find_flavor("8B", kQwen3), nullptr);
  EXPECT_EQ(find_flavor("8B", kQwen3)->n_layers, 36);
  EXPECT_EQ(find_flavor("8B", "llama4"), nullptr);
  EXPECT_EQ(flavor_names(kLlama3), "debugmodel, 8B, 70B, 405B");
}

TEST(Flavor, FfnWidthFollowsTorchtitansRule) {
  EXPECT_EQ(ffn_width(256, 256, 1.0), 768u);
  EXPECT_EQ(ffn_width(4096, 1024, 1.3), 14336u);
  EXPECT_EQ(ffn_width(3, 1, 1.0), 8u);
}

}  // namespace
}  // namespace titan::recipe::flavor_test
