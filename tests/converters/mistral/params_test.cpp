#include "converters/mistral/params.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>

namespace titan::convert::params_test {
namespace {

constexpr const char* kParams =
    R"({"dim": 48, "n_layers": 2, "head_dim": 14, "hidden_dim": 80, "n_heads": 6, "n_kv_heads": 2, "norm_eps": 1e-05,
        "vocab_size": 101, "rope_theta": 10000.0, "sliding_window": null, "model_type": "transformer"})";

ckpt::Result<recipe::ModelDims> read(const std::string& text) {
  TITAN_ASSIGN_OR_RETURN(const JsonValue json, parse_json("params.json", text));
  return read_mistral_params("params.json", json);
}

std::string with(const std::string& more) { return std::string(kParams, std::strlen(kParams) - 1) + ", " + more + "}"; }

TEST(MistralParams, SayTheModel) {
  const auto model = read(kParams);
  ASSERT_TRUE(model.ok()) << model.status().to_string();
  EXPECT_EQ(model->head_dim, 14);
  EXPECT_EQ(model->ffn_dim, 80);
  EXPECT_EQ(model->n_kv_heads, 2);
  EXPECT_EQ(model->rope_theta, 10000);
  EXPECT_FALSE(model->rope_scaling);
  EXPECT_FALSE(model->tied);
  EXPECT_TRUE(read(with(R"("tied_embeddings": true, "use_biases": false)"))->tied);
  const auto least =
      read(R"({"dim": 8, "n_layers": 1, "hidden_dim": 12, "n_heads": 2, "norm_eps": 1e-6, "vocab_size": 5})");
  ASSERT_TRUE(least.ok()) << least.status().to_string();
  EXPECT_EQ(least->head_dim, 4);
  EXPECT_EQ(least->n_kv_heads, 2);
  EXPECT_EQ(least->rope_theta, 1e6) << "mistral-inference's own";
}

TEST(MistralParams, SayAWindowBesideTheBaseOfRope) {
  std::string text = kParams;
  text.replace(text.find("\"sliding_window\": null"), 22, "\"sliding_window\": 4096");
  const auto model = read(text);
  ASSERT_TRUE(model.ok()) << model.status().to_string();
  EXPECT_EQ(model->window.tokens, 4096);
  EXPECT_TRUE(model->window.layers.empty());
  text.erase(text.find("\"rope_theta\": 10000.0, "), 23);
  const ckpt::Status refused = read(text).status();
  EXPECT_EQ(refused.code, ckpt::Code::kIncompatible);
  EXPECT_THAT(refused.message, ::testing::HasSubstr("a sliding_window and no rope_theta"));
}

TEST(MistralParams, RefuseWhatMayChangeTheModel) {
  for (const char* more :
       {R"("sliding_window": [4096, 8192])", R"("sliding_window": 0)", R"("moe": {"num_experts": 8})",
        R"("use_biases": true)", R"("causal": false)", R"("yarn": {"factor": 8})", R"("something_new": 1)"}) {
    std::string text = with(more);
    if (const std::size_t at = text.find("\"sliding_window\": null, "); at != std::string::npos) text.erase(at, 24);
    const ckpt::Status status = read(text).status();
    EXPECT_EQ(status.code, ckpt::Code::kUnsupported) << more << status.to_string();
  }
  EXPECT_EQ(read(R"({"dim": 8})").status().code, ckpt::Code::kIncompatible);
  EXPECT_EQ(read("[]").status().code, ckpt::Code::kIncompatible);
  EXPECT_EQ(read(R"({"dim": 8, "n_layers": 1, "n_heads": 0})").status().code, ckpt::Code::kIncompatible);
  const Status moe = read(with(R"("moe": {"num_experts": 8})")).status();
  EXPECT_THAT(moe.message, ::testing::Not(::testing::HasSubstr("\n"))) << "a message is one line";
}

}  // namespace
}  // namespace titan::convert::params_test
