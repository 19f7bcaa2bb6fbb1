#include "converters/json_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "converters/convert.h"
#include "tests/converters/hf/folder.h"
#include "tests/support/files.h"
#include "tests/support/mem_fs.h"

namespace titan::convert::json_file_test {
namespace {

using ckpt::Code;
using ::testing::HasSubstr;

struct Wrong {
  const char *text, *message;
  Code code;
};
const std::vector<Wrong> kWrong = {
    {"[]", "is a list, expected a JSON object", Code::kIncompatible},
    {" \n 3", "is a number, expected", Code::kIncompatible},
    {"\"x\"", "is a text, expected", Code::kIncompatible},
    {"null", "is null, expected", Code::kIncompatible},
    {"true", "is a truth value, expected", Code::kIncompatible},
    {"", "is empty", Code::kCorrupt},
    {"{\"a\":", "expected", Code::kCorrupt},
    {"<!DOCTYPE html><html></html>", "is a web page (HTML)", Code::kUnsupported},
    {"version https://git-lfs.github.com/spec/v1\n", "a pointer of git-lfs", Code::kUnsupported},
};

TEST(JsonFile, HoldsAnObjectOrIsNamedForWhatItIs) {
  ckpt::testing::MemFs fs;
  EXPECT_EQ(read_json_object(fs, "/x.json", 100).status().code, Code::kNotFound);
  for (const Wrong& wrong : kWrong) {
    std::ignore = fs.remove_file("/x.json");
    ASSERT_TRUE(ckpt::testing::put_text(fs, "/x.json", wrong.text).ok());
    const Status status = read_json_object(fs, "/x.json", 100).status();
    EXPECT_EQ(status.code, wrong.code) << wrong.text << status.to_string();
    EXPECT_THAT(status.message, HasSubstr("/x.json")) << "the file's name";
    EXPECT_THAT(status.message, HasSubstr(wrong.message));
  }
  ASSERT_TRUE(fs.make_dir("/d.json").ok() && fs.symlink("/nowhere", "/l.json").ok());
  EXPECT_THAT(read_json_object(fs, "/d.json", 100).status().message, HasSubstr("is a folder, expected a file"));
  EXPECT_THAT(read_json_object(fs, "/l.json", 100).status().message, HasSubstr("is a link that leads nowhere"));
  ASSERT_TRUE(ckpt::testing::put_text(fs, "/y.json", "{\"a\": [1]}").ok());
  EXPECT_TRUE(read_json_object(fs, "/y.json", 100)->find("a"));
  EXPECT_FALSE(read_json_object(fs, "/y.json", 5).ok()) << "beyond its limit";
}

// Every file of JSON of a folder of weights, in the place of which something else lies.
TEST(JsonFile, OfAFolderIsRefusedWithOneCodeByAllThatReadIt) {
  for (const char* name : {"config.json", "model.safetensors.index.json", "params.json"}) {
    for (const Wrong& wrong : kWrong) {
      ckpt::testing::MemFs fs;
      const recipe::ModelDims model = testing::tiny_model();
      testing::make_hf_folder(fs, "/hf", model, testing::model_tensors(model));
      if (name != std::string("config.json")) {
        ASSERT_TRUE(fs.rename("/hf/model.safetensors", "/hf/consolidated.safetensors").ok());
      }
      std::ignore = fs.remove_file(std::string("/hf/") + name);
      ASSERT_TRUE(ckpt::testing::put_text(fs, std::string("/hf/") + name, wrong.text).ok());
      const Status status = testing::convert_to(fs, "/hf", "/x").status();
      EXPECT_EQ(status.code, wrong.code) << name << wrong.text << status.to_string();
      EXPECT_THAT(status.message, HasSubstr(wrong.message));
    }
    ckpt::testing::MemFs fs;
    const recipe::ModelDims model = testing::tiny_model();
    testing::make_hf_folder(fs, "/hf", model, testing::model_tensors(model));
    if (name != std::string("config.json")) {
      ASSERT_TRUE(fs.rename("/hf/model.safetensors", "/hf/consolidated.safetensors").ok());
    }
    std::ignore = fs.remove_file(std::string("/hf/") + name);
    ASSERT_TRUE(fs.make_dir(std::string("/hf/") + name).ok());
    const Status folder = testing::convert_to(fs, "/hf", "/x").status();
    EXPECT_EQ(folder.code, Code::kUnsupported) << name << folder.to_string();
    EXPECT_THAT(folder.message, HasSubstr("is a folder, expected a file"));
  }
}

// What a start reads of it does not travel, and a note says why.
TEST(JsonFile, ThatIsNoneDoesNotTravel) {
  ckpt::testing::MemFs fs;
  const recipe::ModelDims model = testing::tiny_model();
  testing::make_hf_folder(fs, "/hf", model, testing::model_tensors(model));
  ASSERT_TRUE(ckpt::testing::put_text(fs, "/hf/generation_config.json", "[]").ok());
  ASSERT_TRUE(ckpt::testing::put_text(fs, "/hf/tokenizer.json", "<!DOCTYPE html><html></html>").ok());
  const auto report = testing::convert_to(fs, "/hf", "/x");
  testing::expect_ok(report);
  EXPECT_THAT(report->notes,
              ::testing::Contains("generation_config.json is not taken along: /hf/generation_config.json is a list, "
                                  "expected a JSON object"));
  EXPECT_THAT(report->notes, ::testing::Contains(HasSubstr("tokenizer.json is not taken along: /hf/tokenizer.json is a "
                                                           "web page (HTML)")));
  EXPECT_FALSE(fs.stat("/x/hf/tokenizer.json").ok());
}

}  // namespace
}  // namespace titan::convert::json_file_test
