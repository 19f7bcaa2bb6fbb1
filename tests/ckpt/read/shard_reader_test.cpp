// Leaf tables and rows that one cannot trust, and the leaves behind them; whole checkpoints are reader_test's.
#include "ckpt/read/shard_reader.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <barrier>
#include <functional>

#include "ckpt/base/aligned_buffer.h"
#include "ckpt/base/fs_posix.h"
#include "ckpt/base/parallel.h"
#include "ckpt/read/reader.h"
#include "tests/support/checkpoints.h"
#include "tests/support/failing_fs.h"
#include "tests/support/files.h"
#include "tests/support/mem_fs.h"

namespace titan::ckpt::shard_reader_test {
namespace {

const LeafPlace kLeaf{400, 400, 4, Codec::kZstd, {}};

/// The row of `stored` in a table that was made for it, with this raw digest.
LeafRow row_of(std::span<const std::byte> stored, const Digest& raw) {
  return {0, stored.size(), kLeaf.raw_bytes, 0, raw, digest_of(stored)};
}

TEST(LeafReader, BytesOfALeafHaveItsRow) {
  const std::vector<std::byte> raw(400, std::byte{7});
  LeafEncoder encoder;
  const auto encoded = encoder.encode(raw, 4, 400);
  ASSERT_TRUE(encoded.ok());
  const LeafRow row = row_of(encoded->bytes, digest_of(raw));
  EXPECT_EQ(LeafReader().measure(encoded->bytes, row, kLeaf), row);
}

// A table may say of bytes that are no frame whatever it likes: verify must not call them whole.
TEST(LeafReader, BytesThatCannotBeDecodedHaveNoRow) {
  const std::vector<std::byte> stored(100, std::byte{7});
  for (const Digest& raw : {digest_of(std::string_view()), Digest{}, digest_of(stored)}) {
    const LeafRow row = row_of(stored, raw), found = LeafReader().measure(stored, row, kLeaf);
    EXPECT_NE(found.raw, row.raw);
    EXPECT_EQ(found.stored, row.stored);
  }
}

struct Saved {
  testing::MemFs fs;
  Manifest manifest;
  std::string path = "/run/step-00000040";

  explicit Saved(Codec codec) {
    Snapshot snapshot = testing::make_snapshot({{"tok_embeddings.weight", {35}}}, {1, 1, 1}, 16);
    snapshot.codec = codec;
    EXPECT_TRUE(testing::save(fs, "/run", snapshot).ok());
    manifest = CheckpointReader::open(fs, path)->manifest();
  }
  const Piece& piece() const { return manifest.parameters[0].model->pieces[0]; }

  /// Writes `table` as that of the shard, digest and all.
  void put_table(const std::vector<LeafRow>& table) {
    FileEntry& file = manifest.files[piece().file];
    const std::vector<std::byte> bytes = encode_leaf_table(table);
    file.table = digest_of(bytes);
    EXPECT_TRUE(fs.overwrite(path + "/" + file.path, file.table_offset, bytes).ok());
  }
};

TEST(ShardReader, ReadsTablesThatMatchTheirDigest) {
  Saved saved(Codec::kRaw);
  ShardReader shards(saved.fs, saved.path, saved.manifest);
  const auto table = shards.table(saved.piece().file);
  ASSERT_TRUE(table.ok()) << table.status().to_string();
  ASSERT_EQ(table->size(), 3u);
  EXPECT_EQ((*table)[2].raw_bytes, 3u * 4);
  const std::byte wrong[] = {std::byte{0xEE}};
  const FileEntry& file = saved.manifest.files[saved.piece().file];
  ASSERT_TRUE(saved.fs.overwrite(saved.path + "/" + file.path, file.table_offset + 70, wrong).ok());
  EXPECT_EQ(shards.table(saved.piece().file).status().code, Code::kCorrupt);
}

// Leaves of 100,000 elements: two fit into one run of a read, and the last one is short.
TEST(ShardReader, ReadsManyRunsIntoMemoryOfAnyAlignment) {
  const testing::TempDir dir;
  const Snapshot snapshot = testing::make_snapshot({{"tok_embeddings.weight", {1234567}}}, {1, 1, 1}, 100000);
  ASSERT_TRUE(testing::save(posix_fs(), dir.path(), snapshot).ok());
  const auto reader = CheckpointReader::open(posix_fs(), dir / "step-00000040");
  ASSERT_TRUE(reader.ok()) << reader.status().to_string();
  for (const LeafRange leaves : {LeafRange{0, 13}, LeafRange{1, 12}, LeafRange{3, 5}, LeafRange{12, 1}}) {
    const std::vector<std::byte> expected = testing::pattern(snapshot, {0, ""}, leaves);
    AlignedBuffer memory(expected.size() + 64);
    for (const std::size_t shift : {0, 64}) {
      const std::span<std::byte> out = memory.all().subspan(shift, expected.size());
      const Status status = reader->read({0, ""}, leaves, out);
      ASSERT_TRUE(status.ok()) << status.to_string();
      EXPECT_TRUE(std::equal(out.begin(), out.end(), expected.begin())) << leaves.first << " " << shift;
    }
  }
}

TEST(ShardReader, HoldsTheTablesOfOpenFilesAlone) {
  testing::MemFs fs;
  const Snapshot snapshot = testing::make_snapshot({{"tok_embeddings.weight", {300 * 16}}}, {1, 150, 1}, 16);
  ASSERT_TRUE(testing::save(fs, "/run", snapshot).ok());
  const std::string path = "/run/step-00000040";
  const Manifest manifest = CheckpointReader::open(fs, path)->manifest();
  ShardReader shards(fs, path, manifest);
  const TensorRef ref{0, ""};
  std::vector<std::byte> out(300 * 16 * 4);
  for (int round = 0; round < 2; ++round) {
    for (const Piece& piece : manifest.stored(ref)->pieces) {
      const LeafRange leaves{piece.first_leaf, piece.leaf_count};
      const std::size_t bytes = PieceLeaves(manifest, ref, piece).bytes(leaves);
      ASSERT_TRUE(shards.read(ref, piece, leaves, std::span(out).first(bytes)).ok());
    }
    EXPECT_EQ(shards.tables_held(), 128u);
  }
}

TEST(ShardReader, ThreadsThatBeginTogetherReadATableOnce) {
  testing::MemFs memory;
  const Snapshot snapshot = testing::make_snapshot({{"tok_embeddings.weight", {400 * 16}}}, {1, 1, 1}, 16);
  ASSERT_TRUE(testing::save(memory, "/run", snapshot).ok());
  const std::string path = "/run/step-00000040";
  const Manifest manifest = CheckpointReader::open(memory, path)->manifest();
  const TensorRef ref{0, ""};
  const Piece& piece = manifest.stored(ref)->pieces[0];
  for (int round = 0; round < 20; ++round) {
    testing::FailingFs fs(memory);
    ShardReader shards(fs, path, manifest);
    std::barrier start(8);
    ASSERT_TRUE(parallel_for(8, 8, [&](std::size_t thread) {
                  start.arrive_and_wait();
                  std::vector<std::byte> out(50 * 16 * 4);
                  return shards.read(ref, piece, {50 * thread, 50}, out);
                }).ok());
    // Each row is read for its digest, and again to be kept.
    EXPECT_EQ(fs.bytes_read(), 400 * (16 * 4 + 2 * kLeafRowBytes));
  }
}

// One set of checks for all who read leaves: the mover asks check_row, the reader reads.
TEST(ShardReader, RefusesRowsThatCannotBe) {
  struct Row {
    Codec codec;
    const char* what;
    std::function<void(LeafRow&)> change;
    bool good = false;
  };
  const Row rows[] = {
      {Codec::kRaw, "as it is", [](LeafRow&) {}, true},
      {Codec::kRaw, "elsewhere", [](LeafRow& r) { r.offset += 4; }},
      {Codec::kRaw, "shorter", [](LeafRow& r) { r.stored_bytes -= 4; }},
      {Codec::kRaw, "filtered", [](LeafRow& r) { r.filter_mask = 3; }},
      {Codec::kRaw, "two digests", [](LeafRow& r) { r.stored.bytes[0] ^= 1; }},
      {Codec::kZstd, "as it is", [](LeafRow&) {}, true},
      {Codec::kZstd, "another raw length", [](LeafRow& r) { r.raw_bytes += 4; }},
      {Codec::kZstd, "elsewhere than its piece", [](LeafRow& r) { r.offset += 4; }},
      {Codec::kZstd, "beyond the file", [](LeafRow& r) { r.offset = UINT64_MAX - 1; }},
      {Codec::kZstd, "a mask that nobody writes", [](LeafRow& r) { r.filter_mask = 7; }},
      {Codec::kZstd, "a frame as large as its leaf",
       [](LeafRow& r) {
         r.stored_bytes = 64;
         r.filter_mask = kMaskBothFilters;
       }},
      {Codec::kZstd, "a frame larger than its leaf", [](LeafRow& r) { r.stored_bytes = 65; }},
      {Codec::kZstd, "a frame of a huge size", [](LeafRow& r) { r.stored_bytes = UINT64_MAX; }},
      {Codec::kZstd, "an empty frame", [](LeafRow& r) { r.stored_bytes = 0; }},
  };
  for (const Row& row : rows) {
    Saved saved(row.codec);
    std::vector<LeafRow> table = *ShardReader(saved.fs, saved.path, saved.manifest).table(saved.piece().file);
    row.change(table[0]);
    saved.put_table(table);
    ShardReader shards(saved.fs, saved.path, saved.manifest);
    const TensorRef ref{0, ""};
    std::vector<std::byte> out(16 * 4);
    for (const Status& status :
         {shards.check_row(table[0], shards.piece(ref, 0), 0), shards.read(ref, saved.piece(), {0, 1}, out)}) {
      EXPECT_EQ(status.ok(), row.good) << row.what << ": " << status.to_string();
      if (row.good) continue;
      EXPECT_EQ(status.code, Code::kCorrupt) << row.what;
      EXPECT_NE(status.message.find("the leaf table does not agree with the manifest: leaf 0 of tensor "
                                    "'tok_embeddings.weight'"),
                std::string::npos)
          << status.message;
    }
  }
}

TEST(ShardReader, OnlyTheFirstCompressedLeafOfAPieceLiesWhereTheManifestSays) {
  Saved saved(Codec::kZstd);
  ShardReader shards(saved.fs, saved.path, saved.manifest);
  const TensorRef ref{0, ""};
  EXPECT_EQ(shards.piece(ref, 2).at(0).offset, saved.piece().offset);
  EXPECT_EQ(shards.piece(ref, 2).at(2).offset, std::nullopt);
}

}  // namespace
}  // namespace titan::ckpt::shard_reader_test
