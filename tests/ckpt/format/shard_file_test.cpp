#include "ckpt/format/shard_file.h"

#include <gtest/gtest.h>

#include <cstring>
#include <thread>

namespace titan::ckpt::shard_file_test {
namespace {

std::vector<ShardPiece> pieces() {
  return {{"a/b%", DType::kF32, {1000, 100}, {3, 7}},
          {"bf", DType::kBF16, {50, 100}, {0, 1}},
          {"big", DType::kF32, {300'000, 262'144}, {0, 2}},
          {"half", DType::kF16, {10, 100}, {0, 1}},
          {"i", DType::kI64, {3, 2}, {1, 1}},
          {"u", DType::kU8, {1, 1}, {0, 1}}};
}

// The file that a skeleton describes, with `fill` in leaves and table.
std::vector<std::byte> image(const ShardSkeleton& skeleton, const std::vector<ShardPiece>& of, std::byte fill) {
  std::vector<std::byte> bytes(skeleton.file_bytes);
  for (const auto& extent : skeleton.metadata)
    std::memcpy(bytes.data() + extent.offset, extent.bytes.data(), extent.bytes.size());
  for (std::size_t i = 0; i < of.size(); ++i)
    std::memset(bytes.data() + skeleton.offsets[i], static_cast<int>(fill), of[i].bytes());
  std::memset(bytes.data() + skeleton.table_offset, static_cast<int>(fill), skeleton.table_rows * kLeafRowBytes);
  return bytes;
}

TEST(ShardFile, RowsHave64LittleEndianBytes) {
  const LeafRow row{0x0102030405060708, 0x11, 0x12, 0x21222324, digest_of("raw"), digest_of("stored")};
  const std::vector<std::byte> bytes = encode_leaf_table({row, {}});
  ASSERT_EQ(bytes.size(), 128u);
  const unsigned char head[32] = {8,    7, 6, 5, 4, 3, 2, 1, 0x11, 0,    0,    0,    0, 0, 0, 0,
                                  0x12, 0, 0, 0, 0, 0, 0, 0, 0x24, 0x23, 0x22, 0x21, 0, 0, 0, 0};
  EXPECT_EQ(std::memcmp(bytes.data(), head, 32), 0);
  EXPECT_EQ(std::memcmp(bytes.data() + 32, digest_of("raw").bytes.data(), 16), 0);
  EXPECT_EQ(std::memcmp(bytes.data() + 48, digest_of("stored").bytes.data(), 16), 0);
  EXPECT_EQ(decode_leaf_table(bytes), (std::vector<LeafRow>{row, {}}));
}

TEST(ShardFile, NamesDatasetsByTensorAndFirstLeaf) {
  EXPECT_EQ(dataset_name("layers.0.w", 12), "layers.0.w@12");
  EXPECT_EQ(dataset_name("a/b%2F", 0), "a%2Fb%252F@0");
}

TEST(ShardFile, AlignsLargePiecesAndNeverOverlaps) {
  const auto skeleton = make_skeleton(pieces());
  ASSERT_TRUE(skeleton.ok()) << skeleton.status().to_string();
  EXPECT_EQ(skeleton->offsets[2] % 4096, 0u);
  EXPECT_EQ(skeleton->table_rows, 13u);
  std::vector<ByteRange> used{{skeleton->table_offset, skeleton->table_offset + 13 * kLeafRowBytes}};
  std::uint64_t bytes = 13 * kLeafRowBytes, rest = 0;
  for (std::size_t i = 0; i < pieces().size(); ++i) {
    used.push_back({skeleton->offsets[i], skeleton->offsets[i] + pieces()[i].bytes()});
    bytes += pieces()[i].bytes();
  }
  for (const ByteRange& range : uncovered(used, skeleton->file_bytes)) rest += range.end - range.begin;
  EXPECT_EQ(bytes + rest, skeleton->file_bytes);
  for (const auto& extent : skeleton->metadata) EXPECT_LE(extent.offset + extent.bytes.size(), skeleton->file_bytes);
}

TEST(ShardFile, IsAFunctionOfItsPiecesInAnyThread) {
  const auto first = make_skeleton(pieces());
  ASSERT_TRUE(first.ok());
  std::vector<std::vector<std::byte>> images(4);
  std::vector<std::thread> threads;
  for (auto& out : images) {
    threads.emplace_back([&out] {
      const auto skeleton = make_skeleton(pieces());
      if (skeleton.ok()) out = image(*skeleton, pieces(), std::byte{0});
    });
  }
  for (std::thread& thread : threads) thread.join();
  for (const auto& out : images) EXPECT_EQ(out, image(*first, pieces(), std::byte{0}));
}

TEST(ShardFile, EnvelopeDigestLeavesOutLeavesAndTable) {
  const auto skeleton = make_skeleton(pieces());
  ASSERT_TRUE(skeleton.ok());
  const std::vector<std::byte> bytes = image(*skeleton, pieces(), std::byte{0xAB});
  std::vector<ByteRange> covered{
      {skeleton->table_offset, skeleton->table_offset + skeleton->table_rows * kLeafRowBytes}};
  for (std::size_t i = 0; i < pieces().size(); ++i)
    covered.push_back({skeleton->offsets[i], skeleton->offsets[i] + pieces()[i].bytes()});
  Hasher hasher;
  for (const ByteRange& range : uncovered(covered, bytes.size()))
    hasher.update(std::span(bytes).subspan(range.begin, range.end - range.begin));
  EXPECT_EQ(envelope_digest(*skeleton, pieces()), hasher.digest());
}

TEST(ShardFile, UncoveredRangesTakeOverlapsAndEnds) {
  const auto text = [](std::vector<ByteRange> covered, std::uint64_t size) {
    std::string out;
    for (const ByteRange& range : uncovered(std::move(covered), size))
      out += "[" + std::to_string(range.begin) + "," + std::to_string(range.end) + ")";
    return out;
  };
  EXPECT_EQ(text({}, 10), "[0,10)");
  EXPECT_EQ(text({}, 0), "");
  EXPECT_EQ(text({{4, 6}, {0, 2}}, 10), "[2,4)[6,10)");
  EXPECT_EQ(text({{0, 5}, {3, 8}, {4, 6}, {8, 10}}, 10), "");
  EXPECT_EQ(text({{2, 2}}, 4), "[0,2)[2,4)");
}

TEST(ShardFile, PlacesCompressedLeavesAsAStream) {
  // Enough chunks that looking each of them up would take minutes.
  std::vector<ShardPiece> many{{"w", DType::kF32, {16'000 * 1000, 1000}, {0, 16'000}, Codec::kZstd},
                               {"raw", DType::kF32, {70'000, 1000}, {0, 70}},
                               {"b", DType::kBF16, {2'500, 1000}, {2, 1}, Codec::kZstd, {{700, 0}}}};
  for (std::uint64_t i = 0; i < 16'000; ++i)
    many[0].stored.push_back(i % 7 ? StoredLeaf{3000 + i % 1000, 0} : StoredLeaf{4000, 3});
  const auto skeleton = make_skeleton(many);
  ASSERT_TRUE(skeleton.ok()) << skeleton.status().to_string();
  std::uint64_t at = kStreamBegin;
  std::vector<ByteRange> used;
  for (std::size_t p = 0; p < many.size(); ++p) {
    EXPECT_EQ(skeleton->offsets[p], at);
    for (std::uint64_t leaf = many[p].leaves.first; leaf < many[p].leaves.end(); ++leaf) {
      ASSERT_EQ(skeleton->leaf_offset(many, p, leaf), at);
      at += many[p].stored_bytes(leaf);
    }
  }
  EXPECT_EQ(skeleton->table_offset, at);
  EXPECT_EQ(skeleton->table_rows, 16'071u);
  const std::uint64_t stream_end = at + skeleton->table_rows * kLeafRowBytes;
  for (const auto& extent : skeleton->metadata) {
    EXPECT_TRUE(extent.offset + extent.bytes.size() <= kStreamBegin || extent.offset >= stream_end) << extent.offset;
    EXPECT_LE(extent.offset + extent.bytes.size(), skeleton->file_bytes);
  }
  EXPECT_LT(skeleton->file_bytes - stream_end, std::uint64_t{16'071} * 80 + 8192) << "metadata per chunk";
}

TEST(ShardFile, RefusesPiecesThatCannotBe) {
  EXPECT_EQ(make_skeleton({}).status().code, Code::kInvalid);
  EXPECT_EQ(make_skeleton({{"a", DType::kF32, {10, 5}, {0, 0}}}).status().code, Code::kInvalid);
  EXPECT_EQ(make_skeleton({{"a", DType::kF32, {10, 5}, {1, 2}}}).status().code, Code::kInvalid);
  EXPECT_EQ(make_skeleton({{"a", DType::kF32, {10, 5}, {0, 1}}, {"a", DType::kF32, {10, 5}, {0, 1}}}).status().code,
            Code::kFailed);
}

}  // namespace
}  // namespace titan::ckpt::shard_file_test
