#include "libtrain/start/attention_choice.h"

#include <gtest/gtest.h>

namespace titan::train {
namespace {

TEST(AttentionChoice, IsAKernelThatComputesInTheDtypeOfTheRun) {
  recipe::Config config;
  config.training.mixed_precision_param = "bfloat16";
  EXPECT_EQ(attention_kernel(config), "flash");
  config.training.mixed_precision_param = "float32";
  EXPECT_EQ(attention_kernel(config), "math");
}

}  // namespace
}  // namespace titan::train
