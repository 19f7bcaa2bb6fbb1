// Mistral's own layout: consolidated safetensors beside params.json.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>

#include "ckpt/base/files.h"
#include "ckpt/base/text.h"
#include "converters/foreign_view.h"
#include "converters/mistral/mistral_format.h"
#include "converters/mistral/params.h"
#include "converters/name_map.h"
#include "recipe/model/parameters.h"
#include "tests/converters/hf/folder.h"
#include "tests/support/mem_fs.h"

namespace titan::convert::mistral_format_test {
namespace {

using ::testing::HasSubstr;

constexpr const char* kParams =
    R"({"dim": 48, "n_layers": 2, "head_dim": 14, "hidden_dim": 80, "n_heads": 6, "n_kv_heads": 2, "norm_eps": 1e-05,
        "vocab_size": 101, "rope_theta": 10000.0, "sliding_window": null, "model_type": "transformer"})";

Result<ModelDims> read(const std::string& text) {
  TITAN_ASSIGN_OR_RETURN(const JsonValue json, parse_json("params.json", text));
  return read_mistral_params("params.json", json);
}

// With "tied_embeddings".
std::string tied_params() { return std::string(kParams, std::strlen(kParams) - 1) + R"(, "tied_embeddings": true})"; }

// The tensors of a model, each under our name, in as many files.
void make_folder(ckpt::testing::MemFs& fs, const std::vector<std::string>& files, const std::string& params = kParams) {
  ASSERT_TRUE(fs.make_dir("/m").ok());
  ASSERT_TRUE(ckpt::write_new_file(fs, "/m/params.json", std::as_bytes(std::span(params))).ok());
  const testing::RawTensors theirs = testing::model_tensors(*read(params));
  std::vector<testing::RawTensors> parts(files.size());
  std::size_t next = 0;
  for (const auto& [name, tensor] : theirs) parts[next++ % parts.size()][huggingface_names().ours(name)->name] = tensor;
  for (std::size_t i = 0; i < files.size(); ++i) {
    const std::string bytes = testing::safetensors_file(parts[i]);
    ASSERT_TRUE(ckpt::write_new_file(fs, "/m/" + files[i], std::as_bytes(std::span(bytes))).ok());
  }
}

TEST(MistralFormat, IsReadFromOneFileAndFromSeveralAndNoRowMoves) {
  for (const std::vector<std::string>& files : {std::vector<std::string>{"consolidated.safetensors"},
                                                std::vector<std::string>{"consolidated-00001-of-00002.safetensors",
                                                                         "consolidated-00002-of-00002.safetensors"}}) {
    ckpt::testing::MemFs fs;
    make_folder(fs, files);
    const auto format = detect_format(fs, "/m");
    ASSERT_TRUE(format.ok() && *format == &mistral_format());
    const auto source = mistral_format().open(fs, "/m");
    ASSERT_TRUE(source.ok()) << source.status().to_string();
    const auto plan = (*source)->plan({});
    ASSERT_TRUE(plan.ok()) << plan.status().to_string();
    EXPECT_EQ(plan->parameters.size(), recipe::model_parameters(*read(kParams)).size());
    const testing::RawTensors theirs = testing::model_tensors(*read(kParams));
    for (std::size_t i = 0; i < plan->tensors.size(); ++i) {
      EXPECT_EQ(plan->tensors[i].head_dim, 0u);
      std::vector<std::byte> bytes(bytes_of(**source, plan->tensors[i]));
      ASSERT_TRUE(PlannedReader(**source, *plan).read(i, 0, bytes).ok());
      const std::string& name = plan->parameters[plan->tensors[i].ref.index].name;
      EXPECT_EQ(ckpt::text_of(bytes), theirs.at(huggingface_names().theirs(name)->name).bytes) << name;
    }
    const auto report = (*source)->verify({});
    ASSERT_TRUE(report.ok());
    EXPECT_EQ(report->leaves, theirs.size());
  }
}

TEST(MistralFormat, TheLengthOfTextsTravelsAsAConfigJson) {
  const auto with = [](const std::string& keys) { return std::string(kParams, std::strlen(kParams) - 1) + keys + "}"; };
  for (const auto& [keys, said] : {std::pair<const char*, const char*>{"", ""},
                                   {R"(, "max_seq_len": 32768)", "32768"},
                                   {R"(, "max_seq_len": 7, "max_position_embeddings": 4096)", "4096"},
                                   {R"(, "max_position_embeddings": "many", "max_seq_len": 9)", "9"}}) {
    ckpt::testing::MemFs fs;
    make_folder(fs, {"consolidated.safetensors"}, with(keys));
    const auto source = mistral_format().open(fs, "/m");
    ASSERT_TRUE(source.ok()) << source.status().to_string();
    const auto plan = (*source)->plan({});
    ASSERT_TRUE(plan.ok()) << plan.status().to_string();
    ASSERT_EQ(plan->companions.size(), *said == '\0' ? 0u : 1u) << keys;
    if (*said == '\0') continue;
    EXPECT_EQ(plan->companions[0].name, "config.json");
    EXPECT_THAT(plan->companions[0].text, HasSubstr(std::string("\"max_position_embeddings\": ") + said + ","));
  }
}

TEST(MistralFormat, RefusesAFolderThatLacksFilesAndAConfigurationOfAnotherModel) {
  ckpt::testing::MemFs fs;
  make_folder(fs, {"consolidated-00001-of-00002.safetensors"});
  const Status missing = mistral_format().open(fs, "/m").status();
  EXPECT_EQ(missing.code, ckpt::Code::kCorrupt);
  EXPECT_THAT(missing.message, HasSubstr("has 1 of the files that consolidated-00001-of-00002.safetensors counts"));
  ckpt::testing::MemFs other;
  make_folder(other, {"consolidated.safetensors"});
  const auto source = mistral_format().open(other, "/m");
  ASSERT_TRUE(source.ok());
  EXPECT_EQ((*source)->plan({.config = Settings{{"model.n_heads", "3"}}}).status().code, ckpt::Code::kIncompatible);
  ckpt::testing::MemFs untied;
  make_folder(untied, {"consolidated.safetensors"}, tied_params());
  const auto tied = mistral_format().open(untied, "/m");
  ASSERT_TRUE(tied.ok());
  EXPECT_TRUE((*tied)->plan({}).ok()) << (*tied)->plan({}).status().to_string();
  EXPECT_FALSE(mistral_format().writes());
}

TEST(MistralFormat, TwoModelsInOneFolderAreRefusedAndWhatLacksItsParametersIsNamed) {
  ckpt::testing::MemFs fs;
  make_folder(fs, {"consolidated.safetensors", "consolidated-00001-of-00001.safetensors"});
  const Status two = mistral_format().open(fs, "/m").status();
  EXPECT_EQ(two.code, ckpt::Code::kIncompatible);
  EXPECT_THAT(two.message, HasSubstr("holds two models: consolidated.safetensors, and 1 file"));
  ASSERT_TRUE(fs.remove_file("/m/consolidated-00001-of-00001.safetensors").ok());
  EXPECT_TRUE(mistral_format().near_miss(fs, "/nowhere").ok());
  ASSERT_TRUE(fs.remove_file("/m/params.json").ok());
  const Status bare = mistral_format().near_miss(fs, "/m");
  EXPECT_EQ(bare.code, ckpt::Code::kIncompatible);
  EXPECT_THAT(bare.message, HasSubstr("has no params.json"));
}

}  // namespace
}  // namespace titan::convert::mistral_format_test
