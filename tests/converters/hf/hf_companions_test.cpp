// Tokenizer and configuration files on their way through tools of ours.
#include <gtest/gtest.h>

#include <algorithm>
#include <tuple>

#include "ckpt/ops/reshard.h"
#include "ckpt/ops/strip.h"
#include "ckpt/ops/verify.h"
#include "ckpt/read/weight_source.h"
#include "converters/convert.h"
#include "converters/foreign_view.h"
#include "converters/hf/byte_tokenizer.h"
#include "converters/hf/written_config.h"
#include "recipe/model/manifest_dims.h"
#include "tests/converters/hf/folder.h"
#include "tests/recipe/support/small_tokenizer.h"
#include "tests/support/files.h"
#include "tests/support/make_checkpoint.h"
#include "tests/support/mem_fs.h"

namespace titan::convert::hf_companions_test {
namespace {

using ckpt::testing::get_text;
using ckpt::testing::tree;

class HfCompanions : public ::testing::Test {
 protected:
  void SetUp() override {
    const recipe::ModelDims model = testing::tiny_model();
    testing::make_hf_folder(fs, "/hf", model, testing::model_tensors(model));
    ASSERT_TRUE(ckpt::testing::put_text(fs, "/hf/tokenizer.json", "words").ok());
    convert("/hf", "/titan", {});
  }
  ConversionReport convert(const std::string& source, const std::string& destination, ConvertOptions options) {
    options.source = source;
    options.destination = destination;
    auto report = convert_checkpoint(fs, options);
    EXPECT_TRUE(report.ok()) << report.status().to_string();
    return report.ok() ? *report : ConversionReport();
  }
  void expect_companions(const std::string& checkpoint) {
    const auto verified = ckpt::verify_target(fs, {.target = checkpoint, .begin = {}, .progress = {}, .cancel = {}});
    ASSERT_TRUE(verified.ok()) << verified.status().to_string();
    EXPECT_TRUE(verified->ok()) << checkpoint;
    convert(checkpoint, checkpoint + ".hf", {.to = "hf"});
    EXPECT_EQ(get_text(fs, checkpoint + ".hf/tokenizer.json"), "words") << checkpoint;
  }
  ckpt::testing::MemFs fs;
};

TEST_F(HfCompanions, StayWhenACheckpointIsResharded) {
  ckpt::ReshardOptions options;
  options.source = "/titan";
  options.dst = "/wide";
  options.target.dp = 3;
  const auto report = ckpt::reshard_checkpoint(fs, options);
  ASSERT_TRUE(report.ok()) << report.status().to_string();
  EXPECT_EQ(report->carried, (std::vector<std::string>{"hf/config.json", "hf/tokenizer.json"}));
  expect_companions("/wide");
}

TEST_F(HfCompanions, StayWhenACheckpointIsStrippedWithAndWithoutACast) {
  for (const auto& [dst, dtype] : {std::pair<std::string, std::optional<DType>>("/plain", {}),
                                   std::pair<std::string, std::optional<DType>>("/cast", DType::kBF16)}) {
    ckpt::StripOptions options;
    options.src = "/titan";
    options.dst = dst;
    options.keep = ckpt::StripKeep::kModel;
    options.dtype = dtype;
    auto report = ckpt::plan_strip(fs, options);
    ASSERT_TRUE(report.ok()) << report.status().to_string();
    const Status written = ckpt::write_strip(fs, options, *report);
    ASSERT_TRUE(written.ok()) << written.to_string();
    expect_companions(dst);
  }
  EXPECT_NE(get_text(fs, "/cast.hf/config.json").find("bfloat16"), std::string::npos);
}

TEST_F(HfCompanions, TravelUnderEveryNameThatTokenizersHave) {
  const std::vector<std::string> names = {
      "added_tokens.json",       "chat_template.jinja",     "chat_template.json", "merges.txt",
      "sentencepiece.bpe.model", "special_tokens_map.json", "spiece.model",       "tekken.json",
      "tokenizer.model",         "tokenizer.model.v3",      "vocab.json",         "vocab.txt"};
  for (const std::string& name : names) ASSERT_TRUE(ckpt::testing::put_text(fs, "/hf/" + name, "of " + name).ok());
  ASSERT_TRUE(ckpt::testing::put_text(fs, "/hf/additional_chat_templates/tools.jinja", "tools").ok());
  ASSERT_TRUE(ckpt::testing::put_text(fs, "/hf/tokenization_own.py", "import os").ok());
  const ConversionReport report = convert("/hf", "/all", {});
  for (const char* note : {"additional_chat_templates is not taken along: it is a folder",
                           "tokenization_own.py is not taken along: it is code"})
    EXPECT_NE(std::ranges::find(report.notes, std::string(note)), report.notes.end()) << note;
  convert("/all", "/back", {.to = "hf"});
  for (const std::string& name : names) EXPECT_EQ(get_text(fs, "/back/" + name), "of " + name);
  convert("/all", "/back", {.to = "hf", .force = true});  // nothing in it is foreign to the format
}

// What a run that begins from the folder takes along.
TEST_F(HfCompanions, AreOfferedToARunThatBeginsFromTheFolder) {
  ASSERT_TRUE(ckpt::testing::put_text(fs, "/hf/own.py", "import os").ok());
  for (const char* path : {"/hf", "/titan"}) {
    auto reader = open_any(fs, path);
    ASSERT_TRUE(reader.ok()) << reader.status().to_string();
    const auto weights = ckpt::weights_of(std::move(*reader));
    ASSERT_TRUE(weights.ok());
    std::vector<std::string> notes;
    const auto files = ckpt::read_model_files(fs, (*weights)->model_files(), notes);
    ASSERT_TRUE(files.ok()) << files.status().to_string();
    std::vector<std::string> names;
    for (const ckpt::ModelFile& file : *files) names.push_back(file.member);
    EXPECT_EQ(names, (std::vector<std::string>{"hf/config.json", "hf/tokenizer.json"})) << path;
    EXPECT_EQ((*weights)->model_file_notes().size(), path == std::string("/hf") ? 1u : 0u);
  }
}

TEST_F(HfCompanions, ADamagedOneIsNotExported) {
  const std::byte wrong[] = {std::byte{'W'}};
  ASSERT_TRUE(fs.overwrite("/titan/hf/tokenizer.json", 0, wrong).ok());
  ConvertOptions options;
  options.source = "/titan";
  options.destination = "/back";
  options.to = "hf";
  const auto refused = convert_checkpoint(fs, options);
  EXPECT_EQ(refused.status().code, ckpt::Code::kCorrupt);
  EXPECT_NE(refused.status().message.find("tokenizer.json does not match its digest"), std::string::npos)
      << refused.status().to_string();
  EXPECT_FALSE(fs.stat("/back").ok());
}

TEST_F(HfCompanions, AnExportWithoutThemSaysSo) {
  const auto says = [](const ConversionReport& report) {
    return std::ranges::any_of(report.notes, [](const std::string& note) {
      return note.starts_with("no tokenizer files are in the checkpoint");
    });
  };
  EXPECT_FALSE(says(convert("/titan", "/with", {.to = "hf"})));
  ASSERT_TRUE(fs.remove_file("/hf/tokenizer.json").ok());
  convert("/hf", "/bare", {});
  EXPECT_TRUE(says(convert("/bare", "/without", {.to = "hf"})));
}

// Programs that read config.json alone must know where a text ends.
TEST_F(HfCompanions, SpecialTokensOfAConfigurationThatIsMadeAreThoseOfTheFiles) {
  ckpt::testing::Synthetic options{.vocab = 320};
  recipe::ModelDims model;
  model.dim = 16, model.n_layers = 2, model.n_heads = 4, model.n_kv_heads = 4, model.head_dim = 4;
  model.ffn_dim = 24, model.vocab_size = 320;
  options.config = recipe::model_rows(model);
  ASSERT_TRUE(ckpt::testing::make_checkpoint(fs, "/run", options).ok());
  const CheckpointReader source = std::move(ckpt::CheckpointReader::open(fs, "/run/step-00000010")).value();
  ExportOptions with;
  const auto ends = [&] {
    std::vector<std::string> notes;
    auto config = written_config(fs, model, source.manifest().config, DType::kF32, with, notes);
    EXPECT_TRUE(config.ok()) << config.status().to_string();
    const JsonValue *begin = config->json.find("bos_token_id"), *end = config->json.find("eos_token_id");
    return (begin == nullptr ? "none" : begin->write()) + (end == nullptr ? "none" : end->write());
  };
  EXPECT_EQ(ends(), "nonenone");
  with.companions.push_back({"", "tokenizer.json", {}, recipe::testing::small_tokenizer()});
  EXPECT_EQ(ends(), "nonenone") << "no file says that <eos> ends a text";
  with.companions.push_back({"", "tokenizer_config.json", {}, R"({"eos_token": "<eos>", "bos_token": "he"})"});
  EXPECT_EQ(ends(), "257\n300\n");
  with.companions.push_back({"", "generation_config.json", {}, R"({"eos_token_id": 7})"});
  EXPECT_EQ(ends(), "none7\n") << "what is said of texts that are written counts first";
  with.companions.back().text = "{";
  EXPECT_EQ(ends(), "257\n300\n") << "a file that is none says nothing";
  with.companions.push_back({"", "config.json", {}, R"({"vocab_size": 320, "eos_token_id": 5})"});
  EXPECT_EQ(ends(), "none5\n");
}

// A note asks for what is missing, and not for what it has just written.
TEST_F(HfCompanions, AnExportAsksForNoFileThatItWrites) {
  ASSERT_TRUE(fs.remove_file("/hf/tokenizer.json").ok());
  const auto asks = [&](const char* from, const char* to) {
    std::string text;
    for (const std::string& note : convert(from, to, {.to = "hf"}).notes)
      if (note.starts_with("no tokenizer files")) text = note;
    return text;
  };
  convert("/hf", "/bare", {});
  EXPECT_NE(asks("/bare", "/first").find("generation_config.json"), std::string::npos);
  ASSERT_TRUE(ckpt::testing::put_text(fs, "/hf/generation_config.json", "{}").ok());
  convert("/hf", "/some", {});
  EXPECT_EQ(asks("/some", "/second").find("generation_config.json"), std::string::npos);
  EXPECT_NE(asks("/some", "/third").find("tokenizer.json"), std::string::npos);
}

/// A checkpoint of a run on `dataset` with the byte tokenizer, as its configuration says it.
void make_trained(ckpt::testing::MemFs& fs, const std::string& run, const std::string& dataset) {
  ckpt::testing::Synthetic options{.vocab = 256};
  recipe::ModelDims model;
  model.dim = 16, model.n_layers = 2, model.n_heads = 4, model.n_kv_heads = 4, model.head_dim = 4;
  model.ffn_dim = 24, model.vocab_size = 256;
  options.config = recipe::model_rows(model);
  options.config.push_back({"model.tokenizer", "\"byte\""});
  options.config.push_back({"training.dataset", dataset});
  std::ranges::sort(options.config);
  ASSERT_TRUE(ckpt::testing::make_checkpoint(fs, run, options).ok());
}

TEST(HfByteModel, GetsTheByteTokenizer) {
  ckpt::testing::MemFs fs;
  for (const auto& [run, dataset, bytes] :
       {std::tuple("/text", "\"text\"", true), std::tuple("/tokens", "\"tokens\"", false)}) {
    make_trained(fs, run, dataset);
    const std::string out = std::string(run) + ".hf";
    const auto report = testing::convert_to(fs, std::string(run) + "/step-00000010", out, {.to = "hf"});
    testing::expect_ok(report);
    const bool asks = std::ranges::any_of(
        report->notes, [](const std::string& note) { return note.starts_with("no tokenizer files"); });
    EXPECT_EQ(fs.stat(out + "/tokenizer.json").ok(), bytes) << dataset;
    EXPECT_EQ(fs.stat(out + "/tokenizer_config.json").ok(), bytes) << dataset;
    EXPECT_EQ(asks, !bytes) << dataset;
  }
  EXPECT_EQ(get_text(fs, "/text.hf/tokenizer.json"), byte_tokenizer_json());
}

TEST(HfByteModel, KeepsItsTokenizerThereAndBack) {
  ckpt::testing::MemFs fs;
  make_trained(fs, "/run", "\"text\"");
  testing::expect_ok(testing::convert_to(fs, "/run/step-00000010", "/hf", {.to = "hf"}));
  testing::expect_ok(testing::convert_to(fs, "/hf", "/titan"));
  testing::expect_ok(testing::convert_to(fs, "/titan", "/back", {.to = "hf"}));
  EXPECT_EQ(tree(fs, "/hf"), tree(fs, "/back"));
  for (const std::string& name : tree(fs, "/hf")) EXPECT_EQ(get_text(fs, "/hf/" + name), get_text(fs, "/back/" + name));
}

}  // namespace
}  // namespace titan::convert::hf_companions_test
