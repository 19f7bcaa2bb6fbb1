#include "converters/hf/byte_tokenizer.h"

#include <gtest/gtest.h>

#include <set>

#include "ckpt/format/json_value.h"

namespace titan::convert::byte_tokenizer_test {
namespace {

using ckpt::JsonValue;
using ckpt::parse_json;

TEST(ByteTokenizer, HasALetterForEveryByteAndNothingElse) {
  const auto parsed = parse_json("tokenizer.json", byte_tokenizer_json());
  ASSERT_TRUE(parsed.ok()) << parsed.status().to_string();
  const JsonValue* model = parsed->find("model");
  const auto& vocabulary = model->find("vocab")->members();
  ASSERT_EQ(vocabulary.size(), 256u);
  std::set<std::string> letters;
  for (std::size_t id = 0; id < 256; ++id) {
    EXPECT_EQ(vocabulary[id].second.as_u64(), id);
    letters.insert(vocabulary[id].first);
  }
  EXPECT_EQ(letters.size(), 256u);
  EXPECT_TRUE(model->find("merges")->items().empty());
  EXPECT_TRUE(parsed->find("added_tokens")->items().empty());
}

TEST(ByteTokenizer, HasTheLettersOfGpt2) {
  const JsonValue parsed = parse_json("tokenizer.json", byte_tokenizer_json()).value();
  const JsonValue* vocabulary = parsed.find("model")->find("vocab");
  EXPECT_EQ(vocabulary->find("A")->as_u64(), 65u);
  EXPECT_EQ(vocabulary->find("\xc4\xa0")->as_u64(), 32u);  // space
  EXPECT_EQ(vocabulary->find("\xc4\x8a")->as_u64(), 10u);  // newline
  EXPECT_EQ(vocabulary->find("\xc4\x80")->as_u64(), 0u);
  EXPECT_EQ(vocabulary->find("\xc2\xa1")->as_u64(), 0xa1u);
  EXPECT_EQ(vocabulary->find("\xc5\x83")->as_u64(), 0xadu);
  EXPECT_EQ(vocabulary->find("\xc3\xbf")->as_u64(), 0xffu);
}

TEST(ByteTokenizer, IsKnownAgainInAnyLayout) {
  std::string spaced = byte_tokenizer_json();
  EXPECT_TRUE(is_byte_tokenizer(spaced));
  for (std::size_t at = 0; (at = spaced.find("\n", at)) != std::string::npos; at += 2) spaced.insert(at, " ");
  EXPECT_TRUE(is_byte_tokenizer(spaced));
  EXPECT_FALSE(is_byte_tokenizer(""));
  EXPECT_FALSE(is_byte_tokenizer("words"));
  std::string other = byte_tokenizer_json();
  other.replace(other.find("\"A\": 65"), 7, "\"A\": 66");
  EXPECT_FALSE(is_byte_tokenizer(other));
}

TEST(ByteTokenizer, IsKnownAgainWithATemplateThatAddsNothing) {
  const auto with = [](const std::string& post) {
    std::string json = byte_tokenizer_json();
    const std::string none = "\"post_processor\": null";
    return json.replace(json.find(none), none.size(), "\"post_processor\": " + post);
  };
  EXPECT_TRUE(is_byte_tokenizer(with(R"({"type": "TemplateProcessing", "special_tokens": {}})")));
  EXPECT_FALSE(is_byte_tokenizer(with(R"({"type": "TemplateProcessing", "special_tokens": {"<s>": {"ids": [1]}}})")));
}

TEST(ByteTokenizer, SaysTheLengthWhereItIsKnown) {
  EXPECT_NE(byte_tokenizer_config(128).find("\"model_max_length\": 128"), std::string::npos);
  EXPECT_EQ(byte_tokenizer_config({}).find("model_max_length"), std::string::npos);
}

}  // namespace
}  // namespace titan::convert::byte_tokenizer_test
