// A step of nanotron's from one of ours, and back.
#include "converters/nanotron/nanotron_checkpoint.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/converters/hf/folder.h"
#include "tests/support/files.h"
#include "tests/support/mem_fs.h"

namespace titan::convert::nanotron::nanotron_writer_test {
namespace {

using ckpt::Code;
using ckpt::testing::get_text;
using ckpt::testing::MemFs;
using recipe::ModelDims;
using testing::convert_to;
using testing::expect_ok;
using ::testing::HasSubstr;

ModelDims square() {
  ModelDims model = testing::tiny_model();
  model.dim = 24;
  return model;
}

TEST(NanotronWriter, ComesBackWithEveryByte) {
  ModelDims biased = square();
  biased.qkv_bias = biased.tied = true;
  for (const ModelDims& model : {square(), biased}) {
    MemFs fs;
    testing::make_hf_folder(fs, "/hf", model, testing::model_tensors(model));
    expect_ok(convert_to(fs, "/hf", "/7", {.to = "nanotron"}));
    const auto format = detect_format(fs, "/7");
    ASSERT_TRUE(format.ok() && *format == &nanotron_format());
    expect_ok(convert_to(fs, "/7", "/back", {.to = "hf"}));
    const testing::RawTensors expected = testing::model_tensors(model),
                              found = testing::read_safetensors(fs, "/back/model.safetensors");
    ASSERT_EQ(found.size(), expected.size());
    for (const auto& [name, tensor] : expected) EXPECT_TRUE(found.at(name).bytes == tensor.bytes) << name;
    const auto report = convert_to(fs, "/7", "/x", {.dry_run = true});
    expect_ok(report);
    for (const TensorReport& line : report->tensors)
      EXPECT_TRUE(line.fate == Fate::kTied || line.from.find("pp_block") != std::string::npos) << line.from;
  }
}

TEST(NanotronWriter, LaysFilesOutAsTheLoaderLooksForThem) {
  MemFs fs;
  testing::make_hf_folder(fs, "/hf", square(), testing::model_tensors(square()));
  expect_ok(convert_to(fs, "/hf", "/7", {.to = "nanotron", .dtype = DType::kBF16}));
  const std::string qkv = get_text(
      fs, "/7/model/model/decoder/1/pp_block/attn/qkv_proj/model_weight_pp-rank-0-of-1_tp-rank-0-of-1.safetensors");
  EXPECT_THAT(qkv, HasSubstr(R"x("unsharded_shape":"(48, 24)")x"));
  EXPECT_THAT(qkv, HasSubstr("0,24,None|None,None,None#0,24,None|None,None,None;24,36,None|None,None,None#24,36,None|"
                             "None,None,None;36,48,"));
  EXPECT_THAT(qkv, HasSubstr("BF16"));
  EXPECT_THAT(get_text(fs, "/7/model/model/final_layer_norm/pp_block/model_weight.safetensors"),
              ::testing::Not(HasSubstr("unsharded")));
  EXPECT_THAT(get_text(fs, "/7/model_config.json"), HasSubstr("\"is_llama_config\": true"));
  EXPECT_THAT(get_text(fs, "/7/checkpoint_metadata.json"), HasSubstr("\"version\": \"1.4\""));
}

TEST(NanotronWriter, RefusesModelsThatNanotronHasNot) {
  ModelDims scaled = square(), wide = testing::tiny_model(), window = square();
  window.window = {8, {}};
  scaled.rope_scaling = recipe::RopeScaling{8, 1, 4, 64};
  for (const auto& [model, message] : {std::pair{scaled, "RoPE that is scaled"},
                                       {wide, "heads of another width"},
                                       {window, "a model with a sliding window"}}) {
    MemFs fs;
    testing::make_hf_folder(fs, "/hf", model, testing::model_tensors(model));
    const Status status = convert_to(fs, "/hf", "/7", {.to = "nanotron"}).status();
    EXPECT_EQ(status.code, Code::kUnsupported);
    EXPECT_THAT(status.message, HasSubstr(message));
  }
}

TEST(NanotronWriter, ReplacesNoStepWithAnOptimizer) {
  MemFs fs;
  testing::make_hf_folder(fs, "/hf", square(), testing::model_tensors(square()));
  expect_ok(convert_to(fs, "/hf", "/7", {.to = "nanotron"}));
  expect_ok(convert_to(fs, "/hf", "/7", {.to = "nanotron", .force = true}));
  ASSERT_TRUE(fs.make_dir("/7/optimizer").ok());
  EXPECT_THAT(convert_to(fs, "/hf", "/7", {.to = "nanotron", .force = true}).status().message,
              HasSubstr("also holds 'optimizer'"));
}

}  // namespace
}  // namespace titan::convert::nanotron::nanotron_writer_test
