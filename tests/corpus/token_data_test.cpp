#include "corpus/token_data.h"

#include <gtest/gtest.h>

#include "tests/support/files.h"
#include "tests/support/mem_fs.h"

namespace titan::corpus::token_data_test {
namespace {

using ckpt::Code;
using ckpt::testing::MemFs;
using ckpt::testing::put_text;

TokenData sample() {
  TokenData data;
  data.tokens = 3;
  data.documents = 2;
  data.text_bytes = 9;
  data.longest = 2;
  data.vocabulary = 300;
  data.tokenizer = ckpt::digest_of("tokenizer");
  data.before = {1};
  data.behind = {299};
  data.shards = {{"tokens-00000.bin", "ends-00000.bin", 3, 2, ckpt::digest_of("a"), ckpt::digest_of("b")}};
  return data;
}

void fill(MemFs& fs, const std::string& json) {
  ASSERT_TRUE(put_text(fs, "/d/data.json", json).ok());
  ASSERT_TRUE(put_text(fs, "/d/tokens-00000.bin", std::string(6, '\1')).ok());
  ASSERT_TRUE(put_text(fs, "/d/ends-00000.bin", std::string(16, '\1')).ok());
}

TEST(TokenData, ReadsWhatItWrote) {
  MemFs fs;
  fill(fs, write_token_data(sample()));
  const auto data = read_token_data(fs, "/d");
  ASSERT_TRUE(data.ok()) << data.status().to_string();
  EXPECT_EQ(*data, sample());
  EXPECT_TRUE(is_token_data(fs, "/d"));
  EXPECT_FALSE(is_token_data(fs, "/none"));
}

TEST(TokenData, SaysWhatIsNotRight) {
  const auto broken = [](void (*change)(TokenData&)) {
    MemFs fs;
    TokenData data = sample();
    change(data);
    fill(fs, write_token_data(data));
    return read_token_data(fs, "/d").status().code;
  };
  EXPECT_EQ(broken([](TokenData& data) { data.token_bytes = 3; }), Code::kInvalid);
  EXPECT_EQ(broken([](TokenData& data) { data.tokens = 4; }), Code::kInvalid) << "the sum of the shards";
  EXPECT_EQ(broken([](TokenData& data) { data.documents = 1; }), Code::kInvalid);
  EXPECT_EQ(broken([](TokenData& data) { data.tokens = data.shards[0].tokens = 4; }), Code::kCorrupt)
      << "the size of the file";
  EXPECT_EQ(broken([](TokenData& data) { data.tokens = data.shards[0].tokens = 1ull << 63; }), Code::kCorrupt);
  EXPECT_EQ(broken([](TokenData& data) { data.shards[0].ends_file = "none"; }), Code::kInvalid);
  EXPECT_EQ(broken([](TokenData& data) { data.shards[0].tokens_file = "../d/tokens-00000.bin"; }), Code::kInvalid);
  EXPECT_EQ(broken([](TokenData& data) { data.before.assign(65, 0); }), Code::kInvalid);
}

TEST(TokenData, CutFilesAreErrors) {
  const std::string whole = write_token_data(sample());
  for (std::size_t size = 0; size < whole.size() - 2; size += 13) {
    MemFs fs;
    fill(fs, whole.substr(0, size));
    EXPECT_EQ(read_token_data(fs, "/d").status().code, Code::kInvalid) << size;
  }
}

}  // namespace
}  // namespace titan::corpus::token_data_test
