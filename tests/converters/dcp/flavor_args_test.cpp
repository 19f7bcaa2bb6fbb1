#include "converters/dcp/flavor_args.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace titan::convert::dcp::flavor_args_test {
namespace {

using ::testing::EndsWith;
using ::testing::HasSubstr;

recipe::ModelDims model(std::uint64_t dim, std::uint64_t ffn_dim) {
  recipe::ModelDims model;
  model.dim = dim, model.n_layers = 1, model.n_heads = 2, model.n_kv_heads = 1, model.head_dim = dim / 2,
  model.ffn_dim = ffn_dim, model.vocab_size = 5;
  return model;
}

TEST(DcpFlavor, SaysTheWidthOfTheFeedForwardInTorchtitansTerms) {
  EXPECT_THAT(flavor_text(model(256, 768)), EndsWith(", multiple_of=256)")) << "debugmodel";
  EXPECT_THAT(flavor_text(model(4096, 14336)), EndsWith(", multiple_of=1, ffn_dim_multiplier=1.3126)"));
  for (std::uint64_t dim : {2u, 48u, 1000u, 16384u}) {
    for (std::uint64_t width : {1u, 12u, 80u, 53248u, 1u << 31}) {
      const std::string text = flavor_text(model(dim, width)), key = "ffn_dim_multiplier=";
      const std::size_t at = text.find(key);
      ASSERT_NE(at, std::string::npos);
      EXPECT_EQ(static_cast<std::uint64_t>(std::stod(text.substr(at + key.size())) * static_cast<double>(8 * dim / 3)),
                width)
          << dim;
    }
  }
}

TEST(DcpFlavor, SaysHowRopeIsScaled) {
  recipe::ModelDims scaled = model(8, 12);
  EXPECT_THAT(flavor_text(scaled), HasSubstr("rope_scaling_args=RoPEScalingArgs(scaling_factor=1)"));
  scaled.rope_scaling = recipe::RopeScaling{};
  EXPECT_THAT(flavor_text(scaled), ::testing::Not(HasSubstr("rope_scaling_args"))) << "torchtitan's default";
  scaled.rope_scaling->factor = 32;
  EXPECT_THAT(flavor_text(scaled), HasSubstr("RoPEScalingArgs(scaling_factor=32.0, low_freq_factor=1.0"));
}

TEST(DcpFlavor, TheHeadsMustShareTheWholeWidth) {
  recipe::ModelDims apart = model(48, 80);
  EXPECT_TRUE(check_flavor("x", apart).ok());
  apart.n_heads = 6, apart.head_dim = 14;
  EXPECT_EQ(check_flavor("x", apart).code, ckpt::Code::kUnsupported);
}

}  // namespace
}  // namespace titan::convert::dcp::flavor_args_test
