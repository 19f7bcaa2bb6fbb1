// What a conversion says it did, and which patterns of --skip it takes.
#include <gtest/gtest.h>

#include <cstring>

#include "converters/convert.h"
#include "tests/converters/hf/folder.h"
#include "tests/support/make_checkpoint.h"
#include "tests/support/mem_fs.h"

namespace titan::convert {
namespace {

using testing::convert_to;
using testing::make_hf_folder;
using testing::model_tensors;
using testing::RawTensors;

class HfReport : public ::testing::Test {
 protected:
  HfReport() { model.n_heads = 2; }  // dim / heads is head_dim, as torchtitan must have it
  ckpt::testing::MemFs fs;
  ModelConfig model = testing::tiny_model();
};

TEST_F(HfReport, NamesTheLargestErrorOfACastByTensorAndElement) {
  RawTensors tensors = model_tensors(model);
  for (auto& [name, tensor] : tensors) std::fill(tensor.bytes.begin(), tensor.bytes.end(), '\0');
  const auto set = [&](const char* name, std::size_t element, float value) { std::memcpy(&tensors.at(name).bytes[element * 4], &value, 4); };
  set("model.norm.weight", 3, 1.00390625f);              // a tie of bfloat16: 2^-8 off
  set("model.layers.1.mlp.up_proj.weight", 17, 256.75f);  // 0.75 off
  set("lm_head.weight", 2, 3.4e38f);                      // becomes infinite
  make_hf_folder(fs, "/hf", model, tensors);
  ASSERT_TRUE(convert_to(fs, "/hf", "/titan").ok());
  const auto report = convert_to(fs, "/titan", "/half", {.to = "hf", .dtype = DType::kBF16});
  ASSERT_TRUE(report.ok()) << report.status().to_string();
  ASSERT_TRUE(report->rounding);
  EXPECT_EQ(report->rounding->tensor, "model.layers.1.mlp.up_proj.weight");
  EXPECT_EQ(report->rounding->error.at, 17u);
  EXPECT_EQ(report->rounding->error.largest, 0.75);
  EXPECT_EQ(report->rounding->error.rounded, 3u);
  EXPECT_EQ(report->rounding->error.overflowed, 1u);
  EXPECT_FALSE(convert_to(fs, "/titan", "/same", {.to = "hf"})->rounding);
  const auto dcp = convert_to(fs, "/titan", "/dcp", {.to = "dcp", .dtype = DType::kBF16});
  ASSERT_TRUE(dcp.ok()) << dcp.status().to_string();
  EXPECT_EQ(dcp->rounding->tensor, "layers.1.feed_forward.w3.weight");
  EXPECT_EQ(dcp->rounding->error.largest, 0.75);
}

TEST_F(HfReport, RefusesAPatternThatMatchesNothingInEveryDirection) {
  make_hf_folder(fs, "/hf", model, model_tensors(model));
  ASSERT_TRUE(convert_to(fs, "/hf", "/titan").ok());
  ASSERT_TRUE(convert_to(fs, "/titan", "/dcp", {.to = "dcp"}).ok());
  for (const auto& [source, to] : {std::pair("/hf", "titan"), std::pair("/titan", "hf"), std::pair("/titan", "dcp"), std::pair("/dcp", "titan"), std::pair("/hf", "dcp")}) {
    const auto report = convert_to(fs, source, "/x", {.to = to, .skip = {"*.bais"}});
    ASSERT_FALSE(report.ok()) << source << " to " << to;
    EXPECT_EQ(report.status().code, ckpt::Code::kInvalid);
    EXPECT_NE(report.status().message.find("--skip '*.bais' matches no tensor of "), std::string::npos) << report.status().message;
  }
}

TEST_F(HfReport, CountsTheOptimizersTensorsAsDropped) {
  const auto published = ckpt::testing::make_checkpoint(fs, "/run", {.step = 10});
  ASSERT_TRUE(published.ok());
  const auto source = CheckpointReader::open(fs, published->path);
  ASSERT_TRUE(source.ok());
  std::size_t slots = 0;
  for (const ckpt::ParameterRecord& record : source->manifest().parameters) slots += record.slots.size();
  ConvertOptions options{.to = "hf"};
  options.config = model_settings([] {
    ModelConfig tiny;
    tiny.dim = 16, tiny.n_layers = 2, tiny.n_heads = 2, tiny.n_kv_heads = 2, tiny.head_dim = 8, tiny.ffn_dim = 24, tiny.vocab_size = 67;
    return tiny;
  }());
  const auto report = convert_to(fs, published->path, "/hf.out", options);
  if (!report.ok()) GTEST_FAIL() << report.status().to_string();
  EXPECT_EQ(report->count([](const TensorReport& t) { return t.fate == Fate::kDropped; }), slots);
}

}  // namespace
}  // namespace titan::convert
