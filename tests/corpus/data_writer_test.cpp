#include "corpus/data_writer.h"

#include <gtest/gtest.h>

#include "tests/support/files.h"
#include "tests/support/mem_fs.h"

namespace titan::corpus::data_writer_test {
namespace {

using ckpt::testing::get_text;
using ckpt::testing::MemFs;

std::string bytes(std::initializer_list<int> values) {
  std::string text;
  for (const int value : values) text += static_cast<char>(value);
  return text;
}

TEST(DataWriter, WritesIdsAndEnds) {
  MemFs fs;
  ASSERT_TRUE(fs.make_dir("/d").ok());
  DataWriter writer(fs, "/d", 2, 1000);
  ASSERT_TRUE(writer.add(std::vector<std::uint32_t>{1, 0x203}).ok());
  ASSERT_TRUE(writer.add(std::vector<std::uint32_t>{4}).ok());
  const auto data = writer.finish();
  ASSERT_TRUE(data.ok());
  EXPECT_EQ(get_text(fs, "/d/tokens-00000.bin"), bytes({1, 0, 3, 2, 4, 0}));
  EXPECT_EQ(get_text(fs, "/d/ends-00000.bin"), bytes({2, 0, 0, 0, 0, 0, 0, 0, 3, 0, 0, 0, 0, 0, 0, 0}));
  EXPECT_EQ(data->tokens, 3u);
  EXPECT_EQ(data->documents, 2u);
  EXPECT_EQ(data->longest, 2u);
  EXPECT_EQ(data->shards[0].tokens_digest, ckpt::digest_of(bytes({1, 0, 3, 2, 4, 0})));
}

TEST(DataWriter, ADocumentIsInOneShard) {
  MemFs fs;
  ASSERT_TRUE(fs.make_dir("/d").ok());
  DataWriter writer(fs, "/d", 4, 8);
  for (const std::vector<std::uint32_t>& document : {std::vector<std::uint32_t>{1}, {2, 70000, 3}, {4}})
    ASSERT_TRUE(writer.add(document).ok());
  const auto data = writer.finish();
  ASSERT_TRUE(data.ok());
  ASSERT_EQ(data->shards.size(), 2u);
  EXPECT_EQ(data->shards[0].tokens, 4u);
  EXPECT_EQ(data->shards[1].tokens, 1u);
  EXPECT_EQ(get_text(fs, "/d/tokens-00000.bin").substr(8, 4), bytes({0x70, 0x11, 1, 0}));
  EXPECT_EQ(get_text(fs, "/d/ends-00001.bin"), bytes({1, 0, 0, 0, 0, 0, 0, 0})) << "ends count in the shard";
}

}  // namespace
}  // namespace titan::corpus::data_writer_test
