// Weights in F8_E4M3 with scales of blocks.
#include "converters/hf/float8.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>

#include "converters/hf/hf_checkpoint.h"
#include "tests/converters/hf/folder.h"
#include "tests/support/files.h"
#include "tests/support/mem_fs.h"

namespace titan::convert::float8_test {
namespace {

using ckpt::Code;
using ckpt::testing::MemFs;
using ::testing::Contains;
using ::testing::HasSubstr;

TEST(Float8, TheValuesOfAByte) {
  const auto& values = e4m3_values();
  for (const auto& [bits, value] : {std::pair<std::size_t, float>{0x00, 0.0f},
                                    {0x01, 0x1p-9f},
                                    {0x07, 0.013671875f},
                                    {0x08, 0x1p-6f},
                                    {0x30, 0.5f},
                                    {0x38, 1.0f},
                                    {0x39, 1.125f},
                                    {0x45, 3.25f},
                                    {0x7e, 448.0f},
                                    {0xfe, -448.0f}})
    EXPECT_EQ(values[bits], value) << bits;
  EXPECT_TRUE(std::signbit(values[0x80]));
  EXPECT_TRUE(std::isnan(values[0x7f]) && std::isnan(values[0xff]));
}

constexpr const char* kBlocks = R"("quantization_config": {"quant_method": "fp8", "weight_block_size": [5, 4]})";

// A Hugging Face folder in which gate_proj [20, 12] of layer 0 is of eight bits; its blocks leave no rest but a ragged
// end of others'.
void make_folder(MemFs& fs, const std::string& quantized = kBlocks, const std::string& scales = "[4,3]") {
  const recipe::ModelDims model = testing::tiny_model();
  testing::RawTensors tensors = testing::model_tensors(model);
  testing::RawTensor& gate = tensors.at("model.layers.0.mlp.gate_proj.weight");
  gate.dtype = "F8_E4M3";
  gate.bytes.clear();
  for (int i = 0; i < 240; ++i) gate.bytes += static_cast<char>(i % 120);
  testing::RawTensor& scale = tensors["model.layers.0.mlp.gate_proj.weight_scale_inv"];
  scale.shape = scales;
  for (int i = 0; i < 12; ++i) {
    const float value = static_cast<float>(i + 1) / 8;
    scale.bytes.append(reinterpret_cast<const char*>(&value), 4);
  }
  testing::make_hf_folder(fs, "/hf", model, tensors);
  std::string config = ckpt::testing::get_text(fs, "/hf/config.json");
  if (!quantized.empty()) config.replace(config.find('{'), 1, "{" + quantized + ",");
  ASSERT_TRUE(fs.remove_file("/hf/config.json").ok());
  ASSERT_TRUE(ckpt::testing::put_text(fs, "/hf/config.json", config).ok());
}

TEST(Float8, BlocksAreMultipliedByTheirScales) {
  MemFs fs;
  make_folder(fs);
  const auto report = testing::convert_to(fs, "/hf", "/ours");
  testing::expect_ok(report);
  EXPECT_THAT(report->notes, Contains(HasSubstr("1 tensor of F8_E4M3 with scales of blocks")));
  testing::expect_ok(testing::convert_to(fs, "/ours", "/back", {.to = "hf"}));
  const auto found = testing::read_safetensors(fs, "/back/model.safetensors");
  const std::string& bytes = found.at("model.layers.0.mlp.gate_proj.weight").bytes;
  ASSERT_EQ(bytes.size(), 240 * 4u);
  for (std::size_t i = 0; i < 240; ++i) {
    float value = 0;
    std::memcpy(&value, &bytes[i * 4], 4);
    const std::size_t row = i / 12, column = i % 12;
    EXPECT_EQ(value, e4m3_values()[i % 120] * (static_cast<float>(row / 5 * 3 + column / 4 + 1) / 8)) << i;
  }
  EXPECT_FALSE(found.contains("model.layers.0.mlp.gate_proj.weight_scale_inv"));
  EXPECT_THAT(ckpt::testing::get_text(fs, "/back/config.json"), ::testing::Not(HasSubstr("quantization_config")));
}

// A range gets what the whole has.
TEST(Float8, AnyRangeIsRead) {
  MemFs fs;
  make_folder(fs);
  const auto source = open_hf(fs, "/hf");
  ASSERT_TRUE(source.ok()) << source.status().to_string();
  const auto at =
      std::ranges::find((*source)->tensors(), std::string("model.layers.0.mlp.gate_proj.weight"), &ForeignTensor::name);
  const auto index = static_cast<std::size_t>(at - (*source)->tensors().begin());
  std::vector<float> whole(240);
  ASSERT_TRUE((*source)->read(index, 0, std::as_writable_bytes(std::span(whole))).ok());
  for (const auto& [first, count] : {std::pair<std::size_t, std::size_t>{0, 1}, {59, 3}, {11, 14}, {70, 170}}) {
    std::vector<float> part(count);
    ASSERT_TRUE((*source)->read(index, first, std::as_writable_bytes(std::span(part))).ok());
    EXPECT_TRUE(std::equal(part.begin(), part.end(), whole.begin() + static_cast<std::ptrdiff_t>(first))) << first;
  }
}

TEST(Float8, RefusesWhatDoesNotSayItsBlocks) {
  const std::string method = R"("quantization_config": {"quant_method": ")";
  const std::vector<std::tuple<std::string, std::string, Code, const char*>> cases{
      {"", "[4,3]", Code::kIncompatible, "has no quantization_config"},
      {method + "gptq\"}", "[4,3]", Code::kUnsupported, "where quant_method is \"fp8\""},
      {method + "fp8\"}", "[4,3]", Code::kUnsupported, "where weight_block_size is two numbers"},
      {method + "fp8\", \"weight_block_size\": [0, 4]}", "[4,3]", Code::kUnsupported, "where weight_block_size"},
      {kBlocks, "[3,4]", Code::kIncompatible, "expected float32 [4, 3]"}};
  for (const auto& [quantized, scales, code, message] : cases) {
    MemFs fs;
    make_folder(fs, quantized, scales);
    const Status status = open_hf(fs, "/hf").status();
    EXPECT_EQ(status.code, code) << message << ": " << status.message;
    EXPECT_THAT(status.message, HasSubstr(message));
  }
}

}  // namespace
}  // namespace titan::convert::float8_test
