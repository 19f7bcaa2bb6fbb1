#include "converters/hf/text_facts.h"

#include <gmock/gmock.h>

#include "converters/hf/byte_tokenizer.h"
#include "tests/support/files.h"
#include "tests/support/mem_fs.h"

namespace titan::convert::text_facts_test {
namespace {

using ::testing::ElementsAre;

class TextFactsOf : public ::testing::Test {
 protected:
  void put(const std::string& name, const std::string& text) {
    ASSERT_TRUE(ckpt::testing::put_text(fs_, "/" + name, text).ok());
    files_.push_back({"", "/" + name, "hf/" + name, {}});
  }
  TextFacts facts() {
    auto facts = read_text_facts(fs_, files_);
    EXPECT_TRUE(facts.ok()) << facts.status().to_string();
    return facts.ok() ? *facts : TextFacts();
  }
  ckpt::testing::MemFs fs_;
  std::vector<ckpt::ModelFilePlace> files_;
};

TEST_F(TextFactsOf, NoFilesAreNone) { EXPECT_EQ(facts(), TextFacts()); }

TEST_F(TextFactsOf, KnowOurTokenizerFromOthers) {
  put("tokenizer.json", byte_tokenizer_json());
  put("tokenizer_config.json", byte_tokenizer_config(12));
  EXPECT_TRUE(facts().byte_tokenizer);
  EXPECT_FALSE(facts().tokenizer);
  EXPECT_EQ(facts().tokenizer_json, "") << "bytes need none";
  files_.clear();
  put("tokenizer.model", "words");
  EXPECT_FALSE(facts().byte_tokenizer);
  EXPECT_TRUE(facts().tokenizer);
}

TEST_F(TextFactsOf, BringTheTokenizer) {
  put("tokenizer.json", R"({"model": {}})");
  put("tokenizer_config.json", R"({"eos_token": "x"})");
  EXPECT_TRUE(facts().tokenizer);
  EXPECT_EQ(facts().tokenizer_json, R"({"model": {}})");
  EXPECT_EQ(facts().tokenizer_config, R"({"eos_token": "x"})");
}

TEST_F(TextFactsOf, TakeEndsFromTheGenerationBeforeTheModel) {
  put("config.json", R"({"eos_token_id": 2, "max_position_embeddings": 128})");
  EXPECT_THAT(facts().ends, ElementsAre(2));
  EXPECT_EQ(facts().positions, 128u);
  put("generation_config.json", R"({"eos_token_id": [7, 9]})");
  EXPECT_THAT(facts().ends, ElementsAre(7, 9));
}

TEST_F(TextFactsOf, HaveNoEndWhereItIsNull) {
  put("config.json", R"({"eos_token_id": null})");
  EXPECT_TRUE(facts().ends.empty());
}

TEST_F(TextFactsOf, FailWhereAFileIsNoJson) {
  put("generation_config.json", "words");
  EXPECT_EQ(read_text_facts(fs_, files_).status().code, ckpt::Code::kCorrupt);
}

}  // namespace
}  // namespace titan::convert::text_facts_test
