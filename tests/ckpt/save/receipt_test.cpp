#include "ckpt/save/receipt.h"

#include <gtest/gtest.h>

namespace titan::ckpt::receipt_test {
namespace {

RankReceipt receipt() {
  FileEntry shard, json;
  shard.path = "model/shard-00003.h5";
  shard.bytes = 1234;
  shard.table_offset = 99;
  shard.table_rows = 3;
  shard.table = digest_of("t");
  shard.envelope = digest_of("e");
  json.path = "x.json";
  json.role = FileRole::kJson;
  json.whole = digest_of("w");
  return {3,
          {shard, json},
          {{{7, ""}, {0, 5, 2, 4096, 1, Codec::kRaw}, {digest_of("a"), digest_of("b")}},
           {{8, kExpAvg}, {0, 0, 1, 5000, 0, Codec::kZstd}, {digest_of("c")}}}};
}

TEST(Receipt, DecodesWhatItEncoded) {
  const auto decoded = decode_receipt(encode_receipt(receipt()));
  ASSERT_TRUE(decoded.ok());
  EXPECT_EQ(*decoded, receipt());
  EXPECT_EQ(*decode_receipt(encode_receipt({})), RankReceipt{});
}

/// The fields of a receipt, without the digest behind them.
std::string fields() {
  const std::string bytes = encode_receipt(receipt());
  return bytes.substr(0, bytes.size() - 16);
}

/// Fields with the digest that they should have.
std::string sealed(const std::string& bytes) {
  const Digest digest = digest_of(std::string_view(bytes));
  return bytes + std::string(reinterpret_cast<const char*>(digest.bytes.data()), digest.bytes.size());
}

TEST(Receipt, RefusesACutAnywhereAndTrailingBytes) {
  const std::string bytes = encode_receipt(receipt());
  ASSERT_EQ(sealed(fields()), bytes);
  for (std::size_t size = 0; size < bytes.size(); ++size)
    EXPECT_EQ(decode_receipt(std::string_view(bytes).substr(0, size)).status().code, Code::kCorrupt) << size;
  for (std::size_t size = 0; size < fields().size(); ++size)
    EXPECT_EQ(decode_receipt(sealed(fields().substr(0, size))).status().code, Code::kCorrupt) << size;
  EXPECT_EQ(decode_receipt(bytes + "x").status().code, Code::kCorrupt);
  EXPECT_EQ(decode_receipt(sealed(fields() + "x")).status().code, Code::kCorrupt);
}

TEST(Receipt, RefusesAnyBitThatTheNetworkFlipped) {
  const std::string bytes = encode_receipt(receipt());
  for (std::size_t bit = 0; bit < 8 * bytes.size(); ++bit) {
    std::string changed = bytes;
    changed[bit / 8] ^= static_cast<char>(1 << (bit % 8));
    EXPECT_EQ(decode_receipt(changed).status().code, Code::kCorrupt) << bit;
  }
}

// Rank 0 looks at the files that a receipt names.
TEST(Receipt, RefusesAFileOutsideOfTheCheckpoint) {
  for (const char* path : {"../model/shard-00003.h5", "/etc/passwd", "", "model//shard-00003.h5"}) {
    RankReceipt wrong = receipt();
    wrong.files[0].path = path;
    EXPECT_EQ(decode_receipt(encode_receipt(wrong)).status().code, Code::kCorrupt) << path;
  }
}

TEST(Receipt, SurvivesAnyChangedByteWithoutHugeAllocations) {
  const std::string bytes = fields();
  int refused = 0;
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    std::string changed = bytes;
    changed[i] = static_cast<char>(0xFF);
    const auto decoded = decode_receipt(sealed(changed));
    refused += !decoded.ok();
    EXPECT_TRUE(!decoded.ok() || encode_receipt(*decoded) == sealed(changed)) << i;
  }
  EXPECT_GT(refused, 50);
}

}  // namespace
}  // namespace titan::ckpt::receipt_test
