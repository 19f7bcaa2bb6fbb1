#include "ckpt/save/shard_writer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <hdf5.h>
#include <zstd.h>

#include <cstring>
#include <random>

#include "ckpt/base/fs_posix.h"
#include "ckpt/format/leaf_codec.h"
#include "tests/support/few_threads.h"
#include "tests/support/files.h"
#include "tests/support/mem_fs.h"

namespace titan::ckpt::shard_writer_test {
namespace {

using ::testing::HasSubstr;
using titan::ckpt::testing::get_text;
using titan::ckpt::testing::MemFs;
using titan::ckpt::testing::TempDir;
using Bytes = std::vector<std::byte>;

// Pieces with whole and short leaves, a short leaf alone in its piece, one tensor smaller than a leaf, and what does
// not shrink.
std::vector<ShardPiece> pieces(Codec codec) {
  std::vector<ShardPiece> pieces{
      {"a/b%", DType::kF32, {10'050, 1000}, {3, 8}}, {"tail", DType::kF32, {2'345, 1000}, {2, 1}},
      {"small", DType::kBF16, {600, 1000}, {0, 1}},  {"one", DType::kF64, {1, 1000}, {0, 1}},
      {"i", DType::kI64, {3'000, 1000}, {1, 2}},     {"noise", DType::kU8, {2'500, 1000}, {0, 3}}};
  for (ShardPiece& piece : pieces) piece.codec = codec;
  return pieces;
}

Bytes leaf_bytes(const ShardPiece& piece, std::uint64_t leaf) {
  std::mt19937_64 random(leaf * 31 + piece.tensor.size());
  std::normal_distribution<float> normal;
  Bytes bytes(piece.raw_bytes(leaf));
  for (std::size_t i = 0; i < bytes.size(); i += 4) {
    const float value = normal(random);
    const std::uint64_t noise = random();
    std::memcpy(&bytes[i], piece.tensor == "noise" ? static_cast<const void*>(&noise) : &value,
                std::min<std::size_t>(4, bytes.size() - i));
  }
  return bytes;
}

LeafProvider provider(const std::vector<ShardPiece>& of, Bytes& held) {
  return
      [&](std::size_t piece, std::uint64_t leaf, std::span<std::byte> scratch) -> Result<std::span<const std::byte>> {
        held = leaf_bytes(of[piece], leaf);
        if (leaf % 2) return std::span<const std::byte>(held);  // a view, or what was filled in
        std::memcpy(scratch.data(), held.data(), held.size());
        return std::span<const std::byte>(scratch.first(held.size()));
      };
}

Result<WrittenShard> write(Fs& fs, const std::string& folder, const std::vector<ShardPiece>& of, unsigned threads = 1) {
  Bytes held;
  return write_shard(fs, folder, "shard.h5", of, provider(of, held), {threads});
}

TEST(ShardWriter, ALeafThatIsSpoiltWhileItIsCompressedFailsTheShard) {
  const std::vector<ShardPiece> of = pieces(Codec::kZstd);
  for (const unsigned threads : {1u, 3u}) {
    MemFs fs;
    ASSERT_TRUE(fs.make_dir("/d").ok());
    LeafEncoder::spoil_for_test([](std::span<std::byte> frame) { frame[frame.size() / 2] ^= std::byte{1}; });
    const auto proved = write(fs, "/d", of, threads);
    Bytes held;
    ASSERT_TRUE(fs.make_dir("/e").ok());
    const auto unproved = write_shard(fs, "/e", "shard.h5", of, provider(of, held), {threads, false});
    LeafEncoder::spoil_for_test(nullptr);
    EXPECT_EQ(proved.status().code, Code::kFailed);
    EXPECT_THAT(proved.status().message, HasSubstr("for /d/shard.h5 cannot be saved"));
    EXPECT_TRUE(unproved.ok()) << "nothing else notices";
  }
}

std::vector<LeafRow> rows_of(Fs& fs, const std::string& path, const FileEntry& entry) {
  const std::string text = get_text(fs, path);
  return decode_leaf_table(
      std::as_bytes(std::span(text)).subspan(entry.table_offset, entry.table_rows * kLeafRowBytes));
}

std::size_t decode_filter(unsigned flags, std::size_t, const unsigned*, std::size_t size, std::size_t* capacity,
                          void** buffer) {
  if (!(flags & H5Z_FLAG_REVERSE)) return 0;
  const unsigned long long content = ZSTD_getFrameContentSize(*buffer, size);
  void* out = H5allocate_memory(content, false);
  const std::size_t found = ZSTD_decompress(out, content, *buffer, size);
  H5free_memory(*buffer);
  *buffer = out;
  *capacity = content;
  return ZSTD_isError(found) ? 0 : found;
}

// What libhdf5 makes of a dataset, in the file's own type.
Bytes read_with_hdf5(const std::string& path, const std::string& name) {
  const hid_t file = H5Fopen(path.c_str(), H5F_ACC_RDONLY, H5P_DEFAULT),
              dataset = H5Dopen2(file, name.c_str(), H5P_DEFAULT);
  const hid_t type = H5Dget_type(dataset), space = H5Dget_space(dataset);
  EXPECT_GE(dataset, 0) << name;
  Bytes bytes(static_cast<std::size_t>(H5Sget_simple_extent_npoints(space)) * H5Tget_size(type));
  EXPECT_GE(H5Dread(dataset, type, H5S_ALL, H5S_ALL, H5P_DEFAULT, bytes.data()), 0) << name;
  H5Sclose(space);
  H5Tclose(type);
  H5Dclose(dataset);
  H5Fclose(file);
  return bytes;
}

TEST(ShardWriter, WritesCompressedShardsThatLibhdf5Reads) {
  const H5Z_class2_t filter{H5Z_CLASS_T_VERS, 32015, 1, 1, "zstd", nullptr, nullptr, decode_filter};
  ASSERT_GE(H5Zregister(&filter), 0);
  std::vector<ShardPiece> mixed = pieces(Codec::kZstd);
  mixed[4].codec = Codec::kRaw;
  for (const std::vector<ShardPiece>& of : {pieces(Codec::kRaw), pieces(Codec::kZstd), mixed}) {
    TempDir dir;
    const auto written = write(posix_fs(), dir.path(), of, 3);
    ASSERT_TRUE(written.ok()) << written.status().to_string();
    EXPECT_EQ(posix_fs().stat(dir / "shard.h5")->size, written->file.bytes);
    for (const ShardPiece& piece : of) {
      Bytes expected;
      for (std::uint64_t leaf = piece.leaves.first; leaf < piece.leaves.end(); ++leaf) {
        const Bytes bytes = leaf_bytes(piece, leaf);
        expected.insert(expected.end(), bytes.begin(), bytes.end());
      }
      EXPECT_TRUE(read_with_hdf5(dir / "shard.h5", dataset_name(piece.tensor, piece.leaves.first)) == expected)
          << piece.tensor;
    }
  }
}

TEST(ShardWriter, DatasetsOfCompressedPiecesHaveTheChunkOfTheTensor) {
  TempDir dir;
  ASSERT_TRUE(write(posix_fs(), dir.path(), pieces(Codec::kZstd)).ok());
  const hid_t file = H5Fopen((dir / "shard.h5").c_str(), H5F_ACC_RDONLY, H5P_DEFAULT),
              dataset = H5Dopen2(file, "tail@2", H5P_DEFAULT);
  const hid_t space = H5Dget_space(dataset), creation = H5Dget_create_plist(dataset);
  hsize_t dims = 0, most = 0, chunk = 0;
  H5Sget_simple_extent_dims(space, &dims, &most);
  H5Pget_chunk(creation, 1, &chunk);
  EXPECT_EQ(dims, 345u);
  EXPECT_EQ(most, 1000u);
  EXPECT_EQ(chunk, 1000u);
  unsigned flags = 0;
  std::size_t values = 0;
  EXPECT_EQ(H5Pget_filter2(creation, 0, &flags, &values, nullptr, 0, nullptr, nullptr), H5Z_FILTER_SHUFFLE);
  values = 0;
  EXPECT_EQ(H5Pget_filter2(creation, 1, &flags, &values, nullptr, 0, nullptr, nullptr), 32015);
  H5Pclose(creation);
  H5Sclose(space);
  H5Dclose(dataset);
  H5Fclose(file);
}

TEST(ShardWriter, RowsSayWhereLeavesLieAndWhatTheyAre) {
  MemFs fs;
  const auto written = write(fs, "", pieces(Codec::kZstd));
  ASSERT_TRUE(written.ok()) << written.status().to_string();
  const std::vector<LeafRow> rows = rows_of(fs, "/shard.h5", written->file);
  const std::string text = get_text(fs, "/shard.h5");
  const auto bytes = std::as_bytes(std::span(text));
  std::uint64_t at = kStreamBegin;
  std::size_t row = 0, kept_raw = 0, compressed = 0;
  LeafDecoder decoder;
  for (std::size_t p = 0; p < pieces(Codec::kZstd).size(); ++p) {
    const ShardPiece piece = pieces(Codec::kZstd)[p];
    EXPECT_EQ(written->pieces[p], (Piece{0, piece.leaves.first, piece.leaves.count, at, row, Codec::kZstd}));
    for (std::uint64_t leaf = piece.leaves.first; leaf < piece.leaves.end(); ++leaf, ++row) {
      const Bytes raw = leaf_bytes(piece, leaf);
      EXPECT_EQ(rows[row].offset, at);
      EXPECT_EQ(rows[row].raw_bytes, raw.size());
      EXPECT_EQ(rows[row].raw, digest_of(raw));
      EXPECT_EQ(written->leaves[p][leaf - piece.leaves.first], rows[row].raw);
      const auto stored = bytes.subspan(at, rows[row].stored_bytes);
      EXPECT_EQ(rows[row].stored, digest_of(stored));
      Bytes back(raw.size());
      EXPECT_TRUE(
          decoder.decode(stored, rows[row].filter_mask, dtype_size(piece.dtype), piece.chunk_bytes(), back).ok());
      EXPECT_EQ(back, raw);
      (rows[row].filter_mask == kMaskRaw ? kept_raw : compressed) += 1;
      at += rows[row].stored_bytes;
    }
  }
  EXPECT_GT(kept_raw, 0u);
  EXPECT_GT(compressed, 0u);
  EXPECT_EQ(written->file.table_offset, at);
  std::vector<ByteRange> covered{{kStreamBegin, at + rows.size() * kLeafRowBytes}};
  Hasher rest;
  for (const ByteRange& range : uncovered(covered, bytes.size()))
    rest.update(bytes.subspan(range.begin, range.end - range.begin));
  EXPECT_EQ(written->file.envelope, rest.digest());
}

TEST(ShardWriter, GivesEqualBytesForAnyNumberOfThreads) {
  for (const Codec codec : {Codec::kRaw, Codec::kZstd}) {
    std::string first;
    for (const unsigned threads : {1, 2, 5, 64}) {
      MemFs fs;
      ASSERT_TRUE(write(fs, "", pieces(codec), threads).ok());
      const std::string text = get_text(fs, "/shard.h5");
      if (first.empty()) first = text;
      EXPECT_TRUE(text == first) << threads << " threads";
    }
    for (const int more : {0, 1, 3}) {
      const testing::FewThreads few(more);
      MemFs fs;
      ASSERT_TRUE(write(fs, "", pieces(codec), 5).ok());
      EXPECT_TRUE(get_text(fs, "/shard.h5") == first) << more << " threads to be had";
    }
  }
}

// Moves the stored leaves of a shard in a shuffled order.
TEST(ShardWriter, TakesStoredLeavesInAnyOrder) {
  for (const Codec codec : {Codec::kRaw, Codec::kZstd}) {
    MemFs fs;
    const auto source = write(fs, "", pieces(codec));
    ASSERT_TRUE(source.ok());
    const std::vector<LeafRow> rows = rows_of(fs, "/shard.h5", source->file);
    const std::string text = get_text(fs, "/shard.h5");
    std::vector<ShardPiece> moved = pieces(codec);
    std::vector<std::pair<std::size_t, std::uint64_t>> order;
    for (std::size_t p = 0; p < moved.size(); ++p) {
      for (std::uint64_t leaf = moved[p].leaves.first; leaf < moved[p].leaves.end(); ++leaf) {
        const LeafRow& row = rows[order.size()];
        if (codec == Codec::kZstd) moved[p].stored.push_back({row.stored_bytes, row.filter_mask});
        order.emplace_back(p, leaf);
      }
    }
    auto writer = ShardWriter::create(fs, "", "moved.h5", moved);
    ASSERT_TRUE(writer.ok()) << writer.status().to_string();
    std::vector<std::size_t> turn(order.size());
    for (std::size_t i = 0; i < turn.size(); ++i) turn[i] = i;
    std::shuffle(turn.begin(), turn.end(), std::mt19937_64(3));
    for (const std::size_t i : turn) {
      const auto [p, leaf] = order[i];
      EXPECT_EQ((*writer)->stored_bytes(p, leaf), rows[i].stored_bytes);
      EXPECT_EQ((*writer)->offset(p, leaf), rows[i].offset);
      const Status put =
          (*writer)->put(p, leaf, std::as_bytes(std::span(text)).subspan(rows[i].offset, rows[i].stored_bytes),
                         rows[i].raw, rows[i].stored);
      EXPECT_TRUE(put.ok()) << put.to_string();
    }
    const auto written = (*writer)->finish();
    ASSERT_TRUE(written.ok()) << written.status().to_string();
    EXPECT_TRUE(get_text(fs, "/moved.h5") == text);
    EXPECT_EQ(written->pieces, source->pieces);
    EXPECT_EQ(written->file.envelope, source->file.envelope);
  }
}

TEST(ShardWriter, TakesRunsOfNeighbours) {
  MemFs fs;
  const std::vector<ShardPiece> of{pieces(Codec::kRaw)[0]};
  const auto source = write(fs, "", of);
  const std::vector<LeafRow> rows = rows_of(fs, "/shard.h5", source->file);
  const std::string text = get_text(fs, "/shard.h5");
  auto writer = ShardWriter::create(fs, "", "moved.h5", of);
  const auto run = [&](std::size_t first, std::size_t count) {
    std::vector<ShardWriter::LeafDigests> digests;
    for (std::size_t i = first; i < first + count; ++i) digests.push_back({rows[i].raw, rows[i].stored});
    const std::uint64_t bytes =
        rows[first + count - 1].offset + rows[first + count - 1].stored_bytes - rows[first].offset;
    return (*writer)->put_run(0, of[0].leaves.first + first,
                              std::as_bytes(std::span(text)).subspan(rows[first].offset, bytes), digests);
  };
  EXPECT_TRUE(run(5, 3).ok());
  EXPECT_THAT((*writer)->finish().status().message, HasSubstr("leaf 3 of 'a/b%' for moved.h5 was never written"));
  EXPECT_TRUE(run(0, 5).ok());
  EXPECT_THAT(run(1, 1).message, HasSubstr("leaf 4 of 'a/b%' for moved.h5 was written before"));
  EXPECT_TRUE((*writer)->finish().ok());
  EXPECT_TRUE(get_text(fs, "/moved.h5") == text);
}

TEST(ShardWriter, RefusesWrongLengthsAndImpossibleForms) {
  MemFs fs;
  std::vector<ShardPiece> of{{"t", DType::kF32, {10, 10}, {0, 1}, Codec::kZstd, {{12, 0}}}};
  auto writer = ShardWriter::create(fs, "", "a.h5", of);
  ASSERT_TRUE(writer.ok()) << writer.status().to_string();
  EXPECT_THAT((*writer)->put(0, 0, Bytes(13), {}, {}).message, HasSubstr("has 13 stored bytes, expected 12"));
  EXPECT_THAT((*writer)->put(0, 1, Bytes(12), {}, {}).message, HasSubstr("the piece does not have it"));
  for (const StoredLeaf bad : {StoredLeaf{0, 0}, {40, 0}, {41, 3}, {12, 3}, {12, 2}}) {
    of[0].stored = {bad};
    EXPECT_EQ(ShardWriter::create(fs, "", "b.h5", of).status().code, Code::kInvalid)
        << bad.bytes << " " << bad.filter_mask;
  }
  of[0].stored = {};
  EXPECT_EQ(ShardWriter::create(fs, "", "b.h5", of).status().code, Code::kInvalid);
  of[0] = {"huge", DType::kF32, {kMaxChunkBytes, kMaxChunkBytes}, {0, 1}, Codec::kZstd};
  EXPECT_EQ(write(fs, "", of).status().code, Code::kInvalid);
}

TEST(ShardWriter, StopsAllThreadsAtTheFirstError) {
  for (const unsigned threads : {1, 4}) {
    for (const std::uint64_t bad : {3, 6, 10}) {
      MemFs fs;
      const std::vector<ShardPiece> of = pieces(Codec::kZstd);
      Bytes held;
      const LeafProvider good = provider(of, held);
      const auto fails = write_shard(fs, "", "a.h5", of,
                                     [&](std::size_t piece, std::uint64_t leaf,
                                         std::span<std::byte> scratch) -> Result<std::span<const std::byte>> {
                                       if (piece == 0 && leaf == bad) return corrupt("leaf is bad");
                                       return good(piece, leaf, scratch);
                                     },
                                     {threads});
      EXPECT_EQ(fails.status().message, "leaf is bad");
      const auto cut = write_shard(fs, "", "b.h5", of,
                                   [&](std::size_t piece, std::uint64_t leaf,
                                       std::span<std::byte> scratch) -> Result<std::span<const std::byte>> {
                                     if (piece == 0 && leaf == bad) return std::span<const std::byte>(scratch.first(8));
                                     return good(piece, leaf, scratch);
                                   },
                                   {threads});
      EXPECT_THAT(cut.status().message, HasSubstr("has 8 bytes, expected"));
    }
  }
}

TEST(ShardWriter, PassesOnAFullDiskFromAnyThread) {
  for (const unsigned threads : {1, 4}) {
    MemFs fs(16384);
    const auto written = write(fs, "", pieces(Codec::kZstd), threads);
    EXPECT_EQ(written.status().code, Code::kFailed);
    EXPECT_THAT(written.status().to_string(), HasSubstr("disk full"));
  }
}

}  // namespace
}  // namespace titan::ckpt::shard_writer_test
