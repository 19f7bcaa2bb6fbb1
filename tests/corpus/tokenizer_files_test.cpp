#include "corpus/tokenizer_files.h"

#include <gmock/gmock.h>

#include "tests/recipe/support/small_tokenizer.h"
#include "tests/support/files.h"
#include "tests/support/mem_fs.h"

namespace titan::corpus::tokenizer_files_test {
namespace {

using ckpt::Code;
using ckpt::testing::MemFs;
using ckpt::testing::put_text;
using ::testing::HasSubstr;

TEST(TokenizerFiles, AreThoseOfAFolderOrAFileWithItsNeighbour) {
  MemFs fs;
  ASSERT_TRUE(put_text(fs, "/blobs/json", recipe::testing::small_tokenizer()).ok());
  ASSERT_TRUE(put_text(fs, "/t/tokenizer_config.json", R"({"eos_token":"<eos>"})").ok());
  ASSERT_TRUE(fs.symlink("../blobs/json", "/t/tokenizer.json").ok());
  for (const char* path : {"/t", "/t/tokenizer.json"}) {
    const auto files = read_tokenizer_files(fs, path);
    ASSERT_TRUE(files.ok()) << files.status().to_string();
    EXPECT_EQ(files->path, "/t/tokenizer.json");
    const auto tokenizer = parse_tokenizer(*files);
    ASSERT_TRUE(tokenizer.ok());
    EXPECT_EQ(tokenizer->eos(), 300u);
  }
  ASSERT_TRUE(fs.remove_file("/t/tokenizer_config.json").ok());
  EXPECT_EQ(read_tokenizer_files(fs, "/t")->config, "");
}

TEST(TokenizerFiles, SayWhatIsMissing) {
  MemFs fs;
  ASSERT_TRUE(fs.make_dir("/t").ok());
  ASSERT_TRUE(fs.make_dir("/odd").ok());
  ASSERT_TRUE(fs.make_dir("/odd/tokenizer.json").ok());
  EXPECT_EQ(read_tokenizer_files(fs, "/odd").status().code, Code::kInvalid) << "no file, as a FIFO is none";
  for (const char* path : {"/none", "/t"}) {
    const auto files = read_tokenizer_files(fs, path);
    ASSERT_FALSE(files.ok());
    EXPECT_EQ(files.status().code, Code::kInvalid);
    EXPECT_THAT(files.status().hint, HasSubstr("tokenizer.json"));
  }
}

}  // namespace
}  // namespace titan::corpus::tokenizer_files_test
