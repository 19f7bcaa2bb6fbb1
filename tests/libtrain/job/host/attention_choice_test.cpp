#include "libtrain/job/host/attention_choice.h"

#include <gmock/gmock.h>

#include "recipe/keys/config.h"

namespace titan::train::attention_choice_test {
namespace {

using testing::HasSubstr;

recipe::Config config_of(const std::string& attention, const std::string& dtype, bool deterministic = true) {
  recipe::Config config;
  config.training.attention = attention;
  config.training.mixed_precision_param = dtype;
  config.debug.deterministic = deterministic;
  return config;
}

TEST(AttentionChoice, AutoIsAKernelThatComputesInTheDtypeOfTheRun) {
  EXPECT_EQ(*attention_kernel(config_of("auto", "bfloat16")), "flash");
  EXPECT_EQ(*attention_kernel(config_of("auto", "float32")), "math");
}

TEST(AttentionChoice, ANamedKernelIsTaken) {
  EXPECT_EQ(*attention_kernel(config_of("flash", "bfloat16")), "flash");
  EXPECT_EQ(*attention_kernel(config_of("math", "bfloat16")), "math");
  EXPECT_EQ(*attention_kernel(config_of("cudnn", "bfloat16", false)), "cudnn");
}

TEST(AttentionChoice, KernelsOfSixteenBitsAreRefusedInFloat32) {
  for (const char* const kernel : {"flash", "cudnn"}) {
    const auto refused = attention_kernel(config_of(kernel, "float32", false));
    EXPECT_EQ(refused.status().code, ckpt::Code::kInvalid);
    EXPECT_THAT(refused.status().message, HasSubstr("computes in bfloat16 alone"));
  }
}

TEST(AttentionChoice, CudnnNeedsThePromiseToBeGivenUp) {
  const auto refused = attention_kernel(config_of("cudnn", "bfloat16"));
  EXPECT_EQ(refused.status().code, ckpt::Code::kInvalid);
  EXPECT_THAT(refused.status().hint, HasSubstr("debug.deterministic = false"));
}

TEST(AttentionChoice, DocumentsThatAreKeptApartAreNotThereYet) {
  recipe::Config config = config_of("auto", "bfloat16");
  config.training.document_mask = true;
  EXPECT_EQ(attention_kernel(config).status().code, ckpt::Code::kUnsupported);
}

}  // namespace
}  // namespace titan::train::attention_choice_test
