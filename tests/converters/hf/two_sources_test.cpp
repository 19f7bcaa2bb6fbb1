// model.safetensors and an index in one folder, and what else stands there that is no weight.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <tuple>

#include "converters/convert.h"
#include "converters/foreign_view.h"
#include "tests/converters/hf/folder.h"
#include "tests/support/files.h"
#include "tests/support/mem_fs.h"

namespace titan::convert::two_sources_test {
namespace {

using ckpt::Code;
using ckpt::testing::put_text;
using ::testing::Contains;
using testing::convert_to;
using ::testing::HasSubstr;
using testing::RawTensors;

class TwoSources : public ::testing::Test {
 protected:
  void SetUp() override {
    testing::make_hf_folder(fs, "/hf", model, tensors);
    put_shards(tensors);
  }
  // The tensors in two files, and their index.
  void put_shards(const RawTensors& all) {
    RawTensors parts[2];
    std::string map;
    for (const auto& [name, tensor] : all) {
      const bool second = name.starts_with("model.layers.1.");
      parts[second ? 1 : 0].emplace(name, tensor);
      map += (map.empty() ? "\"" : ",\"") + name + "\":\"" + kShards[second ? 1 : 0] + '"';
    }
    for (int i = 0; i < 2; ++i) put(kShards[i], testing::safetensors_file(parts[i]));
    put("model.safetensors.index.json", R"({"metadata":{},"weight_map":{)" + map + "}}");
  }
  void put(const std::string& name, const std::string& text) {
    std::ignore = fs.remove_file("/hf/" + name);
    ASSERT_TRUE(put_text(fs, "/hf/" + name, text).ok());
  }
  Status refusal() { return convert_to(fs, "/hf", "/x", {.dry_run = true}).status(); }
  std::vector<std::string> notes() {
    const auto report = convert_to(fs, "/hf", "/x", {.dry_run = true});
    testing::expect_ok(report);
    return report.ok() ? report->notes : std::vector<std::string>{};
  }

  static constexpr const char* kShards[] = {"model-00001-of-00002.safetensors", "model-00002-of-00002.safetensors"};
  ckpt::testing::MemFs fs;
  recipe::ModelDims model = testing::tiny_model();
  RawTensors tensors = testing::model_tensors(model);
};

TEST_F(TwoSources, TheSameTensorsAreReadWithANote) {
  EXPECT_THAT(notes(), Contains(HasSubstr("model.safetensors.index.json next to it names the same tensors")));
}

TEST_F(TwoSources, OtherValuesOrNamesAreRefusedWithBothNamed) {
  RawTensors other = tensors;
  other.at("model.norm.weight").bytes[1] ^= 1;
  put_shards(other);
  const Status values = refusal();
  EXPECT_EQ(values.code, Code::kIncompatible);
  EXPECT_EQ(values.message, "/hf holds two models: model.safetensors, and the 2 files of model.safetensors.index.json");
  EXPECT_THAT(values.causes, Contains("'model.norm.weight' has other values"));
  EXPECT_THAT(values.hint, HasSubstr("mv /hf/model.safetensors /hf/model.safetensors.old"));
  other = tensors;
  other.emplace("model.extra", RawTensors::mapped_type{"F32", "[1]", "abcd"});
  put_shards(other);
  EXPECT_THAT(refusal().causes, Contains("the index names more tensors"));
  other.erase("model.extra");
  other.erase("lm_head.weight");
  put_shards(other);
  EXPECT_THAT(refusal().causes, Contains("'lm_head.weight' is in the one alone"));
  ASSERT_TRUE(fs.remove_file("/hf/model.safetensors").ok());
  put_shards(tensors);
  EXPECT_TRUE(refusal().ok()) << "as the hint said";
}

TEST_F(TwoSources, AFileThatCannotBeReadBesideWholeShardsIsNamedWithThem) {
  for (const std::string& bytes : {std::string(40, '\0'), std::string("<!DOCTYPE html>"), std::string(),
                                   testing::safetensors_file(tensors).substr(0, 3000)}) {
    put("model.safetensors", bytes);
    EXPECT_EQ(refusal().code, Code::kIncompatible) << bytes.size();
    EXPECT_THAT(refusal().message, HasSubstr("and the 2 files of model.safetensors.index.json"));
  }
  ASSERT_TRUE(fs.remove_file(std::string("/hf/") + kShards[1]).ok());
  EXPECT_EQ(refusal().code, Code::kCorrupt) << "neither is whole";
}

TEST_F(TwoSources, AnIndexWithoutItsFilesIsPassedOverWithANote) {
  ASSERT_TRUE(fs.remove_file(std::string("/hf/") + kShards[0]).ok());
  EXPECT_THAT(notes(), Contains(HasSubstr("model.safetensors.index.json next to it is ignored: ")));
}

TEST_F(TwoSources, WhatATrainerLeftIsNamed) {
  for (const char* name : {"optimizer.pt", "scheduler.pt", "trainer_state.json", "rng_state.pth", "README.md"})
    put(name, "x");
  EXPECT_THAT(notes(), Contains(HasSubstr("not taken: 'optimizer.pt', 'rng_state.pth', 'scheduler.pt', "
                                          "'trainer_state.json': the state of a run")));
  const auto file = convert_to(fs, "/hf/model.safetensors", "/x", {.dry_run = true});
  testing::expect_ok(file);
  EXPECT_THAT(file->notes, Not(Contains(HasSubstr("not taken: ")))) << "the folder was not asked for";
}

TEST_F(TwoSources, AnotherModelBesideIsNamedAndReadWhenItIsGiven) {
  for (const char* name : {kShards[0], kShards[1], "model.safetensors.index.json"})
    ASSERT_TRUE(fs.remove_file(std::string("/hf/") + name).ok());
  RawTensors second = tensors;
  second.at("model.norm.weight").bytes[1] ^= 1;
  put("model_1.safetensors", testing::safetensors_file(second));  // accelerate's second model
  put("adapter_model.safetensors", "x");
  EXPECT_THAT(notes(), Contains("not read: 'adapter_model.safetensors', 'model_1.safetensors' next to "
                                "model.safetensors; a file is read when it is given itself, as in "
                                "/hf/adapter_model.safetensors"));
  const auto given = convert_to(fs, "/hf/model_1.safetensors", "/second");
  testing::expect_ok(given);
  EXPECT_THAT(given->notes, Not(Contains(HasSubstr("not read"))));
  testing::expect_ok(convert_to(fs, "/second", "/back", {.to = "hf"}));
  EXPECT_EQ(testing::read_safetensors(fs, "/back/model.safetensors").at("model.norm.weight").bytes,
            second.at("model.norm.weight").bytes);
}

TEST_F(TwoSources, FilesOfNoIndexAreNamedBesideThoseOfOne) {
  ASSERT_TRUE(fs.remove_file("/hf/model.safetensors").ok());
  EXPECT_THAT(notes(), Not(Contains(HasSubstr("not read"))));
  put("consolidated.safetensors", "x");
  EXPECT_THAT(notes(), Contains(HasSubstr("'consolidated.safetensors' next to the files of model.safetensors.index")));
}

}  // namespace
}  // namespace titan::convert::two_sources_test
