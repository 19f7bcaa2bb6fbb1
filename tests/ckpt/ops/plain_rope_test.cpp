#include "ckpt/ops/plain_rope.h"

#include <gtest/gtest.h>

#include "ckpt/plan/lr_settings.h"

namespace titan::ckpt::plain_rope_test {
namespace {

TEST(PlainRope, IsSaidWhereTheBaseIsAndNoScaling) {
  const auto scaling = [](const Settings& config) { return setting(with_plain_rope(config), "model.rope_scaling"); };
  EXPECT_EQ(scaling({{"model.rope_theta", "10000.0"}}), "\"none\"");
  EXPECT_EQ(scaling({{"model.rope_scaling", "\"linear:4\""}, {"model.rope_theta", "10000.0"}}), "\"linear:4\"");
  EXPECT_EQ(scaling({{"model.dim", "8"}}), kNotSet) << "nothing is known of RoPE";
  EXPECT_EQ(with_plain_rope({{"model.dim", "8"}, {"model.rope_theta", "1.0"}, {"optimizer.lr", "1.0"}}).size(), 4u);
}

}  // namespace
}  // namespace titan::ckpt::plain_rope_test
