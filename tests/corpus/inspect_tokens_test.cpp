#include "corpus/inspect_tokens.h"

#include <gmock/gmock.h>

#include "corpus/tokenize.h"
#include "tests/recipe/support/small_tokenizer.h"
#include "tests/support/files.h"
#include "tests/support/mem_fs.h"

namespace titan::corpus::inspect_tokens_test {
namespace {

using ckpt::Code;
using ckpt::testing::get_text;
using ckpt::testing::MemFs;
using ckpt::testing::put_text;
using ::testing::ElementsAre;

class InspectTokens : public ::testing::Test {
 protected:
  void SetUp() override {
    ASSERT_TRUE(put_text(fs, "/t/tokenizer.json", recipe::testing::small_tokenizer()).ok());
    ASSERT_TRUE(put_text(fs, "/a.txt", "hello|hell|o").ok());
    TokenizeOptions making;
    making.input.inputs = {"/a.txt"};
    making.input.separator = "|";
    making.tokenizer = "/t";
    making.dst = "/d";
    making.behind = "<eos>";
    making.shard_bytes = 6;
    const auto made = tokenize(fs, making);
    ASSERT_TRUE(made.ok()) << made.status().to_string();
    ASSERT_EQ(made->data.shards.size(), 2u);
    options.folder = "/d";
  }
  void overwrite(const std::string& path, const std::string& bytes) {
    ASSERT_TRUE(fs.remove_file(path).ok());
    ASSERT_TRUE(put_text(fs, path, bytes).ok());
  }

  MemFs fs;
  InspectTokensOptions options;
};

TEST_F(InspectTokens, ShowsDocumentsOverShards) {
  options.show = 9;
  options.verify = true;
  const auto report = inspect_tokens(fs, options);
  ASSERT_TRUE(report.ok()) << report.status().to_string();
  EXPECT_TRUE(report->verified);
  EXPECT_THAT(report->shown, ElementsAre(ShownDocument{2, false, "hello<eos>"}, ShownDocument{3, false, "hell<eos>"},
                                         ShownDocument{2, false, "o<eos>"}));
  options.most = 1;
  EXPECT_THAT(inspect_tokens(fs, options)->shown[0], (ShownDocument{2, true, "hello"}));
}

TEST_F(InspectTokens, FindsDamage) {
  options.verify = true;
  std::string bytes = get_text(fs, "/d/tokens-00001.bin");
  bytes[0] ^= 1;
  overwrite("/d/tokens-00001.bin", bytes);
  EXPECT_EQ(inspect_tokens(fs, options).status().code, Code::kCorrupt);
  options.verify = false;
  EXPECT_TRUE(inspect_tokens(fs, options).ok());
  std::string ends = get_text(fs, "/d/ends-00000.bin");
  ends[0] = 100;
  overwrite("/d/ends-00000.bin", ends);
  options.show = 1;
  const auto behind = inspect_tokens(fs, options);
  ASSERT_FALSE(behind.ok());
  EXPECT_EQ(behind.status().code, Code::kCorrupt);
  EXPECT_THAT(behind.status().message, ::testing::HasSubstr("document 0 ends at token 100, expected 0 to"));
}

TEST_F(InspectTokens, VerifiesTheTokenizerAndEveryId) {
  options.verify = true;
  const std::string tokenizer = get_text(fs, "/d/tokenizer.json");
  overwrite("/d/tokenizer.json", tokenizer + " ");
  EXPECT_EQ(inspect_tokens(fs, options).status().code, Code::kCorrupt);
  EXPECT_THAT(inspect_tokens(fs, options).status().message, ::testing::HasSubstr("'/d/tokenizer.json' is damaged"));
  ASSERT_TRUE(fs.remove_file("/d/tokenizer.json").ok());
  EXPECT_EQ(inspect_tokens(fs, options).status().code, Code::kCorrupt);
  ASSERT_TRUE(put_text(fs, "/d/tokenizer.json", tokenizer).ok());
  ASSERT_TRUE(inspect_tokens(fs, options).ok());
  TokenData data = inspect_tokens(fs, options)->data;
  data.vocabulary = 300;  // <eos> is 300
  overwrite("/d/data.json", write_token_data(data));
  const auto outside = inspect_tokens(fs, options);
  EXPECT_EQ(outside.status().code, Code::kCorrupt);
  EXPECT_THAT(outside.status().message,
              ::testing::HasSubstr("has the id 300, and data.json says that all are below 300"));
}

TEST_F(InspectTokens, RefusesAnotherTokenizer) {
  ASSERT_TRUE(put_text(fs, "/other/tokenizer.json", recipe::testing::small_tokenizer() + " ").ok());
  options.show = 1;
  options.tokenizer = "/other";
  EXPECT_EQ(inspect_tokens(fs, options).status().code, Code::kInvalid);
  options.folder = "/other";
  EXPECT_EQ(inspect_tokens(fs, options).status().code, Code::kInvalid) << "no folder of tokens";
}

TEST_F(InspectTokens, FilesOfIdsAreLookedAtLikeFolders) {
  options.folder = "/f.ds";
  options.tokenizer = "/t";
  options.show = 2;
  options.verify = true;
  ASSERT_TRUE(put_text(fs, "/f.ds", std::string("h\0e\0\3\1o\0", 8)).ok());
  ASSERT_TRUE(put_text(fs, "/f.ds.index", std::string("\3\0\0\0\0\0\0\0\4\0\0\0\0\0\0\0", 16)).ok());
  ASSERT_TRUE(put_text(fs, "/f.ds.metadata", "small|2\n4").ok());
  const auto report = inspect_tokens(fs, options);
  ASSERT_TRUE(report.ok()) << report.status().to_string();
  EXPECT_EQ(report->file->format, TokenFormat::kNanotron);
  EXPECT_EQ(report->data.tokens, 4u);
  EXPECT_EQ(report->data.documents, 2u);
  EXPECT_EQ(report->data.longest, 3u);
  EXPECT_EQ(report->data.vocabulary, 260u);
  EXPECT_THAT(report->shown, ElementsAre(ShownDocument{3, false, "hehello"}, ShownDocument{1, false, "o"}));
  ASSERT_TRUE(fs.remove_file("/f.ds.metadata").ok());
  options.raw_bytes = 4;
  EXPECT_EQ(inspect_tokens(fs, options).status().code, Code::kCorrupt) << "the index counts 4";
  options.folder = "/raw";
  ASSERT_TRUE(put_text(fs, "/raw", std::string("\3\1\0\0\0\0\1\0", 8)).ok());
  EXPECT_THAT(inspect_tokens(fs, options).status().message, ::testing::HasSubstr("has the id 65536"));
  options.raw_bytes = 2;
  const auto raw = inspect_tokens(fs, options);
  ASSERT_TRUE(raw.ok()) << raw.status().to_string();
  EXPECT_EQ(raw->data.documents, 0u);
  EXPECT_EQ(raw->shown.size(), 1u) << "without an index it is one document";
}

TEST_F(InspectTokens, AnIdBelowZeroIsDamage) {
  ASSERT_TRUE(put_text(fs, "/n.npy",
                       std::string("\x93NUMPY\x01\x00\x37\x00", 10) +
                           "{'descr': '<i4', 'fortran_order': False, 'shape': (2,)}" +
                           std::string("\1\0\0\0\xff\xff\xff\xff", 8))
                  .ok());
  options.folder = "/n.npy";
  EXPECT_TRUE(inspect_tokens(fs, options).ok());
  options.verify = true;
  EXPECT_THAT(inspect_tokens(fs, options).status().message, ::testing::HasSubstr("token 1: -1 is no id"));
}

}  // namespace
}  // namespace titan::corpus::inspect_tokens_test
