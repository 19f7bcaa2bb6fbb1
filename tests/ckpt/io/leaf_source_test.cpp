#include "ckpt/io/leaf_source.h"

#include <gtest/gtest.h>

#include <functional>

#include "ckpt/io/reader.h"
#include "tests/support/checkpoints.h"
#include "tests/support/files.h"
#include "tests/support/mem_fs.h"

namespace titan::ckpt {
namespace {

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
};

TEST(LeafSource, ReadsTablesThatMatchTheirDigest) {
  Saved saved(Codec::kRaw);
  LeafSource source(saved.fs, saved.path, saved.manifest);
  const auto table = source.table(saved.piece().file);
  ASSERT_TRUE(table.ok()) << table.status().to_string();
  ASSERT_EQ(table->size(), 3u);
  EXPECT_EQ((*table)[2].raw_bytes, 3u * 4);
  const std::byte wrong[] = {std::byte{0xEE}};
  const FileEntry& file = saved.manifest.files[saved.piece().file];
  ASSERT_TRUE(saved.fs.overwrite(saved.path + "/" + file.path, file.table_offset + 70, wrong).ok());
  EXPECT_EQ(source.table(saved.piece().file).status().code, Code::kCorrupt);
}

TEST(LeafSource, RefusesRowsThatCannotBe) {
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
      {Codec::kZstd, "beyond the file", [](LeafRow& r) { r.offset = UINT64_MAX - 1; }},
      {Codec::kZstd, "a frame larger than its leaf", [](LeafRow& r) { r.stored_bytes = 65; }},
      {Codec::kZstd, "a frame of a huge size", [](LeafRow& r) { r.stored_bytes = UINT64_MAX; }},
      {Codec::kZstd, "an empty frame", [](LeafRow& r) { r.stored_bytes = 0; }},
  };
  for (const Row& row : rows) {
    Saved saved(row.codec);
    LeafSource source(saved.fs, saved.path, saved.manifest);
    LeafRow leaf = (*source.table(saved.piece().file))[0];
    const std::uint64_t offset = leaf.offset;
    row.change(leaf);
    const Status status = source.check_row(leaf, {0, ""}, 0, saved.piece().file, row.codec, offset);
    EXPECT_EQ(status.ok(), row.good) << row.what << ": " << status.to_string();
    if (row.good) continue;
    EXPECT_EQ(status.code, Code::kCorrupt) << row.what;
    EXPECT_NE(status.message.find("leaf 0 of tensor 'tok_embeddings.weight'"), std::string::npos) << status.message;
  }
}

}  // namespace
}  // namespace titan::ckpt
