// model.safetensors.index.json: what is refused.
#include <gtest/gtest.h>

#include "converters/convert.h"
#include "converters/hf/hf_index.h"
#include "tests/converters/hf/folder.h"
#include "tests/support/files.h"
#include "tests/support/mem_fs.h"

namespace titan::convert::hf_index_test {
namespace {

struct WrongIndex {
  const char *name, *index, *message;
};

TEST(HfIndex, RefusesEveryMalformedIndexByName) {
  const WrongIndex list[] = {
      {"NotJson", "{", "expected"},
      {"NoMap", R"({"metadata":{}})", "no object 'weight_map'"},
      {"MapIsAList", R"({"weight_map":[]})", "no object 'weight_map'"},
      {"FileIsANumber", R"({"weight_map":{"a":1}})", "is not a text"},
      {"NameTwice", R"({"weight_map":{"a":"x.safetensors","a":"x.safetensors"}})", "'a' is there twice"},
      {"MapTwice", R"({"weight_map":{"a":"x.safetensors"},"weight_map":{}})", "'weight_map' is there twice"},
      {"MapIsANumberThenAMap", R"({"weight_map":1,"weight_map":{"a":"x.safetensors"}})", "'weight_map' is there twice"},
      {"TooDeep", R"({"x":[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[)", "nested too deeply"},
      {"NotUtf8", "{\"weight_map\":{\"\xff\":\"x.safetensors\"}}", "not UTF-8"},
      {"EscapedSlash", R"({"weight_map":{"a":"\u002e\u002e\u002fx.safetensors"}})", "in the same folder"},
      {"Absolute", R"({"weight_map":{"a":"/etc/passwd.safetensors"}})", "in the same folder"},
      {"Above", R"({"weight_map":{"a":"../x.safetensors"}})", "in the same folder"},
      {"Below", R"({"weight_map":{"a":"sub/x.safetensors"}})", "in the same folder"},
      {"Backslash", R"({"weight_map":{"a":"..\\x.safetensors"}})", "in the same folder"},
      {"Nul", R"({"weight_map":{"a":"x\u0000.safetensors"}})", "in the same folder"},
      {"Hidden", R"({"weight_map":{"a":".safetensors"}})", "in the same folder"},
      {"OtherKind", R"({"weight_map":{"a":"pytorch_model.bin"}})", "in the same folder"},
      {"Empty", R"({"weight_map":{}})", "names 0 files"},
      {"FileMissing", R"({"weight_map":{"model.norm.weight":"y.safetensors"}})", "y.safetensors"},
      {"TensorNotInIndex", R"({"weight_map":{"model.norm.weight":"x.safetensors"}})",
       "is not in model.safetensors.index.json"},
      {"NameOf256Bytes", nullptr, "in the same folder"},
  };
  const std::string long_name = R"({"weight_map":{"a":")" + std::string(244, 'x') + R"(.safetensors"}})";
  ckpt::testing::MemFs fs;
  const recipe::ModelDims model = testing::tiny_model();
  testing::make_hf_folder(fs, "/hf", model, testing::model_tensors(model));
  ASSERT_TRUE(fs.rename("/hf/model.safetensors", "/hf/x.safetensors").ok());
  for (const WrongIndex& wrong : list) {
    (void)fs.remove_file("/hf/model.safetensors.index.json");
    ASSERT_TRUE(ckpt::testing::put_text(fs, "/hf/model.safetensors.index.json",
                                        wrong.index ? std::string(wrong.index) : long_name)
                    .ok());
    const auto report = convert_checkpoint(fs, {.source = "/hf", .destination = "/titan", .created = "", .writer = ""});
    ASSERT_FALSE(report.ok()) << wrong.name;
    EXPECT_NE(report.status().to_string().find(wrong.message), std::string::npos)
        << wrong.name << ": " << report.status().to_string();
  }
}

// Indices in the wild have wrong sums (tied weights counted twice); nobody reads them, and the files say what they
// hold.
TEST(HfIndex, TakesTotalSizeForAHint) {
  const auto map = decode_hf_index("i", R"({"metadata":{"total_size":-1},"weight_map":{"a":"x.safetensors"}})");
  ASSERT_TRUE(map.ok()) << map.status().to_string();
  EXPECT_EQ(*map, (WeightMap{{"a", "x.safetensors"}}));
}

}  // namespace
}  // namespace titan::convert::hf_index_test
