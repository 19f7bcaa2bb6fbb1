#include "ckpt/save/read_back.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cerrno>
#include <cstring>

#include "ckpt/base/fs_posix.h"
#include "ckpt/read/shard_reader.h"
#include "ckpt/save/shard_writer.h"
#include "tests/support/failing_fs.h"
#include "tests/support/files.h"
#include "tests/support/mem_fs.h"

namespace titan::ckpt::read_back_test {
namespace {

using ::testing::HasSubstr;
using titan::ckpt::testing::FailingFs;
using titan::ckpt::testing::get_text;
using titan::ckpt::testing::MemFs;
using titan::ckpt::testing::Op;
using titan::ckpt::testing::TempDir;

constexpr std::uint64_t kLeaves = 250;

std::vector<ShardPiece> pieces(Codec codec) {
  std::vector<ShardPiece> of{{"a", DType::kF32, {100 * kLeaves - 7, 100}, {0, kLeaves}}};
  of[0].codec = codec;
  return of;
}

Result<WrittenShard> write(Fs& fs, const std::string& folder, Codec codec, ReadBack how) {
  std::vector<std::byte> leaf;
  const std::vector<ShardPiece> of = pieces(codec);
  const LeafProvider provider = [&](std::size_t piece, std::uint64_t index, std::span<std::byte>) {
    leaf.assign(of[piece].raw_bytes(index), static_cast<std::byte>(index));
    return Result<std::span<const std::byte>>(std::span<const std::byte>(leaf));
  };
  return write_shard(fs, folder, "shard.h5", of, provider, {2, true, how});
}

TEST(ReadBack, SamplesOneLeafOfAHundredAndOneAtLeast) {
  EXPECT_EQ(sampled_leaves(0, 5).size(), 0u);
  EXPECT_EQ(sampled_leaves(1, 5), (std::vector<std::uint64_t>{0}));
  for (const std::uint64_t count : {99u, 100u, 250u, 1000u, 12345u}) {
    for (const std::uint64_t seed : {std::uint64_t{0}, std::uint64_t{7}, ~std::uint64_t{0}}) {
      const std::vector<std::uint64_t> leaves = sampled_leaves(count, seed);
      EXPECT_EQ(leaves.size(), std::max<std::uint64_t>(1, count / 100));
      EXPECT_LT(leaves.back(), count);
    }
  }
  EXPECT_NE(sampled_leaves(1000, 0), sampled_leaves(1000, 1));
}

TEST(ReadBack, FindsEveryByteThatTheStoreChanged) {
  for (const Codec codec : {Codec::kRaw, Codec::kZstd}) {
    MemFs fs;
    ASSERT_TRUE(fs.make_dir("/d").ok());
    const WrittenShard written = write(fs, "/d", codec, ReadBack::kAll).value();
    const std::string whole = get_text(fs, "/d/shard.h5");
    const std::vector<LeafRow> rows =
        read_rows(*fs.open_read("/d/shard.h5").value(), written.file, 0, written.file.table_rows).value();
    const auto look = [&](ReadBack how) { return read_back(fs, "/d", written.file, rows, how, 2); };
    EXPECT_TRUE(look(ReadBack::kAll).ok());
    std::uint64_t sampled = 0;
    const std::uint64_t table_end = written.file.table_offset + written.file.table_rows * kLeafRowBytes;
    for (std::uint64_t at = 0; at < whole.size(); at += 97) {
      const std::byte flipped = static_cast<std::byte>(whole[at]) ^ std::byte{4};
      ASSERT_TRUE(fs.overwrite("/d/shard.h5", at, {&flipped, 1}).ok());
      const Status all = look(ReadBack::kAll), some = look(ReadBack::kSampled);
      EXPECT_EQ(all.code, Code::kFailed) << at;
      EXPECT_EQ(all.error, EIO);
      EXPECT_TRUE(all.store_refused());
      EXPECT_THAT(all.message, HasSubstr("reads back from the store with other bytes than were written"));
      const bool in_leaf = all.message.find("the leaf at byte") != std::string::npos;
      EXPECT_TRUE(in_leaf || !some.ok()) << "table and structure are always read: " << at;
      const bool in_table = at >= written.file.table_offset && at < table_end;
      EXPECT_FALSE(in_table && in_leaf) << at;
      sampled += some.ok() ? 0 : 1;
      EXPECT_TRUE(look(ReadBack::kOff).ok());
      const auto right = static_cast<std::byte>(whole[at]);
      ASSERT_TRUE(fs.overwrite("/d/shard.h5", at, {&right, 1}).ok());
    }
    EXPECT_GT(sampled, 0u);
  }
}

TEST(ReadBack, AShardThatCannotBeReadBackIsNotWritten) {
  for (const Codec codec : {Codec::kRaw, Codec::kZstd}) {
    for (const ReadBack how : {ReadBack::kOff, ReadBack::kSampled, ReadBack::kAll}) {
      MemFs disk;
      ASSERT_TRUE(disk.make_dir("/d").ok());
      FailingFs fs(disk);
      fs.arm({.op = Op::kPread, .path_part = "shard.h5", .error = EIO});
      const auto written = write(fs, "/d", codec, how);
      EXPECT_EQ(written.ok(), how == ReadBack::kOff);
      if (how == ReadBack::kOff) continue;
      EXPECT_EQ(written.status().code, Code::kFailed);
      EXPECT_THAT(written.status().message, HasSubstr("/d/shard.h5 was written and cannot be read back"));
      EXPECT_TRUE(written.status().store_refused());
    }
  }
}

TEST(ReadBack, ReadsWhatLiesOnARealDisk) {
  TempDir dir;
  for (const Codec codec : {Codec::kRaw, Codec::kZstd}) {
    const std::string folder = dir / (codec == Codec::kRaw ? "raw" : "zstd");
    ASSERT_TRUE(posix_fs().make_dir(folder).ok());
    const auto written = write(posix_fs(), folder, codec, ReadBack::kAll);
    EXPECT_TRUE(written.ok()) << written.status().to_string();
  }
}

}  // namespace
}  // namespace titan::ckpt::read_back_test
