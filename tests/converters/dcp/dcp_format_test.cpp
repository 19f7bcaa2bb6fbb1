
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>

#include "ckpt/model/leaf.h"
#include "converters/dcp/dcp_checkpoint.h"
#include "converters/dcp/reader.h"
#include "tests/converters/dcp/dcp_builder.h"
#include "tests/support/mem_fs.h"

namespace titan::convert::dcp::dcp_format_test {
namespace {

using ckpt::testing::MemFs;
using ::testing::HasSubstr;

// Random boxes of random tensors, read in random ranges.
TEST(DcpReader, AssemblesAnyRangeOfAnySharding) {
  const std::uint32_t seed = 11;
  std::mt19937 random(seed);
  for (int round = 0; round < 12; ++round) {
    MemFs fs;
    ASSERT_TRUE(fs.make_dir("/d").ok());
    std::vector<testing::ShardedTensor> tensors;
    for (int t = 0; t < 4; ++t) {
      testing::ShardedTensor tensor{"t" + std::to_string(t), {}, {}};
      for (std::size_t d = 0, rank = random() % 4; d < rank; ++d) {
        tensor.shape.push_back(1 + random() % 7);
        std::vector<std::uint64_t> cuts(random() % 3);
        for (std::uint64_t& cut : cuts)
          cut = random() % (tensor.shape.back() + 1);  // equal cuts make boxes without elements
        std::ranges::sort(cuts);
        tensor.cuts.push_back(cuts);
      }
      tensors.push_back(std::move(tensor));
    }
    ASSERT_TRUE(testing::write_sharded(fs, "/d", tensors, {{"v", ItemValue::of(0.25)}}).ok());
    const auto reader = DcpReader::open(fs, "/d");
    ASSERT_TRUE(reader.ok()) << reader.status().to_string() << " seed " << seed << " round " << round;
    for (std::size_t t = 0; t < tensors.size(); ++t) {
      const TensorEntry& entry = *(*reader)->metadata().tensor(tensors[t].name);
      const std::uint64_t elements = ckpt::element_count(tensors[t].shape);
      for (int range = 0; range < 20; ++range) {
        const std::uint64_t first = random() % elements, count = 1 + random() % (elements - first);
        std::vector<float> out(count, -1);
        ASSERT_TRUE((*reader)->read(entry, first, std::as_writable_bytes(std::span(out))).ok());
        for (std::uint64_t i = 0; i < count; ++i)
          ASSERT_EQ(out[i], static_cast<float>(1000 * t + first + i)) << "seed " << seed << " round " << round;
      }
    }
    EXPECT_EQ((*reader)->value("v")->number(), 0.25);
    const auto report = (*reader)->verify({});
    ASSERT_TRUE(report.ok());
    EXPECT_TRUE(report->damage.empty());
  }
}

TEST(DcpReader, FindsAFlippedPayloadBitByReadingAndByVerifying) {
  MemFs fs;
  ASSERT_TRUE(fs.make_dir("/d").ok());
  ASSERT_TRUE(testing::write_sharded(fs, "/d", {{"a", {40, 8}, {{20}}}}, {}).ok());
  const std::byte flipped[] = {std::byte{0x41}};
  ASSERT_TRUE(fs.overwrite("/d/__1_0.distcp", 704 + 100, flipped).ok());
  const auto reader = DcpReader::open(fs, "/d");
  ASSERT_TRUE(reader.ok());
  std::vector<float> out(40 * 8);
  const Status status = (*reader)->read(*(*reader)->metadata().tensor("a"), 0, std::as_writable_bytes(std::span(out)));
  EXPECT_EQ(status.code, ckpt::Code::kCorrupt);
  EXPECT_THAT(
      status.message,
      HasSubstr("/d/__1_0.distcp: item a at offset 0: entry data/0, 640 bytes at offset 704, does not match its CRC"));
  const auto report = (*reader)->verify({});
  ASSERT_TRUE(report.ok());
  ASSERT_EQ(report->damage.size(), 1u);
  EXPECT_EQ(report->damage[0].file, "__1_0.distcp");
  EXPECT_EQ(report->damage[0].tensor, "a");
}

TEST(DcpReader, RefusesFilesThatAreMissingOrShort) {
  MemFs fs;
  ASSERT_TRUE(fs.make_dir("/d").ok());
  EXPECT_EQ(DcpReader::open(fs, "/d").status().code, ckpt::Code::kNotFound);
  ASSERT_TRUE(testing::write_sharded(fs, "/d", {{"a", {4}, {{2}}}}, {}).ok());
  ASSERT_TRUE(fs.resize("/d/__1_0.distcp", 100).ok());
  EXPECT_THAT(DcpReader::open(fs, "/d").status().message, HasSubstr("has 100 bytes, its items need"));
  ASSERT_TRUE(fs.remove_file("/d/__1_0.distcp").ok());
  EXPECT_THAT(DcpReader::open(fs, "/d").status().message, HasSubstr("/d/__1_0.distcp is missing"));
  for (const char* name : {"__1_0.distcp", ".metadata"}) {
    const std::string path = std::string("/d/") + name;
    const bool gone = !fs.stat(path).ok();
    ASSERT_TRUE(gone || fs.remove_file(path).ok());
    ASSERT_TRUE(ckpt::testing::put_text(fs, path, "version https://git-lfs.github.com/spec/v1\noid sha256:1\n").ok());
    const ckpt::Status pointer = DcpReader::open(fs, "/d").status();
    EXPECT_EQ(pointer.code, ckpt::Code::kUnsupported);
    EXPECT_THAT(pointer.message, HasSubstr(path + " is a pointer of git-lfs"));
  }
}

}  // namespace
}  // namespace titan::convert::dcp::dcp_format_test
