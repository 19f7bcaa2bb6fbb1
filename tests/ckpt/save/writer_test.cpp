#include "ckpt/save/writer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>
#include <random>

#include "ckpt/base/fs_posix.h"
#include "ckpt/plan/file_makers.h"
#include "ckpt/read/reader.h"
#include "ckpt/read/snapshot.h"
#include "ckpt/read/verifier.h"
#include "tests/support/checkpoints.h"
#include "tests/support/failing_fs.h"
#include "tests/support/files.h"
#include "tests/support/make_checkpoint.h"
#include "tests/support/mem_fs.h"

namespace titan::ckpt::writer_test {
namespace {

using ::testing::HasSubstr;
using titan::ckpt::testing::FailingFs;
using titan::ckpt::testing::make_snapshot;
using titan::ckpt::testing::MemFs;
using titan::ckpt::testing::Op;
using titan::ckpt::testing::pattern;
using titan::ckpt::testing::PatternSource;
using titan::ckpt::testing::small_model;
using titan::ckpt::testing::TempDir;

// Reads every stored tensor in random runs of leaves and compares it with what was written.
void expect_reads_back(Fs& fs, const std::string& path, const Snapshot& snapshot, std::mt19937_64& random) {
  auto reader = CheckpointReader::open(fs, path);
  ASSERT_TRUE(reader.ok()) << reader.status().to_string();
  std::vector<std::string> slots{""};
  slots.insert(slots.end(), snapshot.slots.begin(), snapshot.slots.end());
  for (std::uint32_t i = 0; i < snapshot.parameters.size(); ++i) {
    const std::uint64_t count = snapshot.parameters[i].grid(snapshot.leaf_elements).count();
    for (const std::string& slot : slots) {
      for (std::uint64_t first = 0; first <= count;) {
        const LeafRange leaves{first, count == first ? 0 : 1 + random() % (count - first)};
        const std::vector<std::byte> expected = pattern(snapshot, {i, slot}, leaves);
        std::vector<std::byte> found(expected.size());
        const Status status = reader->read({i, slot}, leaves, found);
        ASSERT_TRUE(status.ok()) << status.to_string();
        ASSERT_EQ(found, expected) << snapshot.parameters[i].name << " " << slot << " leaves from " << first;
        first = leaves.end() + (leaves.count == 0);
      }
    }
  }
  EXPECT_EQ(*reader->lr_schedule(), snapshot.lr);
  EXPECT_EQ(*reader->data_position(), snapshot.data);
  EXPECT_EQ(*reader->train_state(), snapshot.train);
  EXPECT_EQ(reader->manifest().config, snapshot.config);
  EXPECT_EQ(reader->manifest().step, snapshot.train.step);
}

std::vector<ParameterMeta> random_model(std::mt19937_64& random) {
  std::vector<ParameterMeta> model;
  const std::size_t count = 1 + random() % 12;
  for (std::size_t i = 0; i < count; ++i) {
    ParameterMeta meta{"layers." + std::to_string(i) + (random() % 2 ? ".w" : "/ä%"), {}, 0};
    for (std::uint64_t d = random() % 4; d > 0; --d) meta.shape.push_back(random() % 12 == 0 ? 0 : 1 + random() % 40);
    model.push_back(std::move(meta));
  }
  return model;
}

TEST(Writer, AnyModelOnAnyMeshReadsBackAndHasTheIdOfOneRank) {
  constexpr std::uint64_t kSeed = 20260102;
  RecordProperty("seed", std::to_string(kSeed));
  std::mt19937_64 random(kSeed);
  for (int round = 0; round < 40; ++round) {
    SCOPED_TRACE("seed " + std::to_string(kSeed) + ", round " + std::to_string(round));
    const auto model = random_model(random);
    const std::uint64_t leaf = round % 3 == 0 ? 1024 : 1 + random() % 100;
    MemFs fs;
    std::optional<Digest> id;
    for (const Mesh mesh : {Mesh{1, 1, 1}, Mesh{static_cast<std::uint32_t>(1 + random() % 3),
                                                static_cast<std::uint32_t>(1 + random() % 5), 1}}) {
      Snapshot snapshot = make_snapshot(model, mesh, leaf);
      snapshot.dtype = round % 4 == 1 ? DType::kBF16 : DType::kF32;
      snapshot.codec = random() % 2 ? Codec::kZstd : Codec::kRaw;
      std::vector<std::string> hosts;
      for (std::uint32_t rank = 0; rank < mesh.world(); ++rank) hosts.push_back(std::to_string(random() % 2));
      if (random() % 4 != 0) snapshot.makers = file_makers(hosts, 1 + static_cast<std::uint32_t>(random() % 3));
      const std::string dir = "/runs/" + std::to_string(mesh.world()) + (id ? "b" : "a") + "/checkpoint";
      const auto published = testing::save(fs, dir, snapshot);
      ASSERT_TRUE(published.ok()) << published.status().to_string();
      EXPECT_THAT(published->warnings, ::testing::IsEmpty());
      EXPECT_EQ(published->path, dir + "/step-00000040");
      expect_reads_back(fs, published->path, snapshot, random);
      const auto report = verify_checkpoint(fs, published->path);
      ASSERT_TRUE(report.ok()) << report.status().to_string();
      EXPECT_TRUE(report->damage.empty())
          << report->damage[0].file << " " << report->damage[0].unit << " " << report->damage[0].detail;
      EXPECT_EQ(report->bytes, published->bytes + fs.stat(published->path + "/manifest.json")->size);
      EXPECT_EQ(id.value_or(published->id), published->id);
      id = published->id;
    }
  }
}

TEST(Writer, CompressionChangesNeitherTheIdNorABit) {
  for (const DType dtype : {DType::kF32, DType::kBF16}) {
    testing::Synthetic options;
    options.dtype = dtype;
    options.dim = 64;
    options.leaf_elements = 2000;
    MemFs fs;
    const auto raw = testing::make_checkpoint(fs, "/raw", options);
    ASSERT_TRUE(raw.ok()) << raw.status().to_string();
    options.codec = Codec::kZstd;
    options.threads = 3;
    options.dp = 3;
    options.pp = 2;
    const auto zstd = testing::make_checkpoint(fs, "/zstd", options);
    ASSERT_TRUE(zstd.ok()) << zstd.status().to_string();
    EXPECT_EQ(raw->id, zstd->id);
    const auto report = verify_checkpoint(fs, zstd->path);
    ASSERT_TRUE(report.ok());
    EXPECT_TRUE(report->damage.empty());
    auto a = CheckpointReader::open(fs, raw->path), b = CheckpointReader::open(fs, zstd->path);
    ASSERT_TRUE(a.ok() && b.ok());
    EXPECT_EQ(a->manifest().minor, 0u);
    EXPECT_EQ(b->manifest().minor, 1u);
    for (std::uint32_t i = 0; i < a->manifest().parameters.size(); ++i) {
      for (const char* slot : {"", kExpAvg, kExpAvgSq}) {
        const LeafGrid grid = a->manifest().parameters[i].meta.grid(2000);
        std::vector<std::byte> left(grid.elements * dtype_size(dtype)), right(left.size());
        ASSERT_TRUE(a->read({i, slot}, {0, grid.count()}, left).ok());
        const Status status = b->read({i, slot}, {0, grid.count()}, right);
        ASSERT_TRUE(status.ok()) << status.to_string();
        EXPECT_TRUE(left == right) << a->manifest().stored_name({i, slot});
      }
    }
  }
}

TEST(Writer, RefusesLeavesThatAreTooLargeToBeCompressed) {
  MemFs fs;
  Snapshot snapshot = make_snapshot({{"w", {kMaxChunkBytes}}}, {1, 1, 1}, kMaxChunkBytes / 4 + 1);
  ASSERT_TRUE(fs.make_dir("/run").ok());
  EXPECT_NE(begin_save(fs, "/run", snapshot, "aaaaaaaaaaaa").status().code, Code::kInvalid);
  snapshot.codec = Codec::kZstd;
  EXPECT_EQ(begin_save(fs, "/run", snapshot, "bbbbbbbbbbbb").status().code, Code::kInvalid);
}

TEST(Writer, RefusesASnapshotThatCouldNotBeReadBackBeforeItWritesAnything) {
  MemFs fs;
  Snapshot twice = make_snapshot({{"w", {4}}, {"w", {4}}}, {1, 1, 1}, 64);
  EXPECT_EQ(begin_save(fs, "/run", twice, "a").status().message, "parameter 'w' is there twice");
  Snapshot endless = make_snapshot({{"w", {4}}}, {1, 1, 1}, 64);
  endless.lr.phases.back().end = std::numeric_limits<double>::infinity();
  EXPECT_EQ(begin_save(fs, "/run", endless, "a").status().code, Code::kInvalid);
  EXPECT_FALSE(fs.stat("/run").ok());
}

TEST(Writer, ASaveBeginsOnlyWhereAllOfItFits) {
  // 8 MiB of parameters and twice that of moments.
  const Snapshot snapshot = make_snapshot({{"w", {std::uint64_t{2} << 20}}}, {1, 1, 1}, std::uint64_t{1} << 20);
  MemFs small(std::uint64_t{20} << 20), large(std::uint64_t{40} << 20);
  ASSERT_TRUE(small.make_dir("/run").ok() && large.make_dir("/run").ok());
  const Status full = begin_save(small, "/run", snapshot, "a").status();
  EXPECT_EQ(full.code, Code::kFailed);
  EXPECT_EQ(full.message, "not enough space for a checkpoint in /run: it needs about 26.3 MiB, 20.0 MiB are free");
  EXPECT_TRUE(begin_save(large, "/run", snapshot, "a").ok());
}

TEST(Writer, ASaveThatCannotBeginLeavesNothing) {
  const Snapshot snapshot = make_snapshot({{"w", {4}}}, {1, 1, 1}, 64);
  for (const char* folder : {"/model", "/optimizer"}) {
    MemFs disk;
    ASSERT_TRUE(disk.make_dir("/run").ok());
    FailingFs fs(disk);
    fs.arm({.op = Op::kMakeDir, .path_part = folder, .error = ENOSPC});
    EXPECT_EQ(begin_save(fs, "/run", snapshot, "a").status().error, ENOSPC);
    EXPECT_TRUE(disk.list("/run")->empty()) << folder;
  }
}

TEST(Writer, SavesThroughThePosixFileSystem) {
  TempDir dir;
  std::mt19937_64 random(7);
  const Snapshot snapshot = make_snapshot(small_model(), {2, 3, 1}, 1024);
  const auto published = testing::save(posix_fs(), dir / "run/checkpoint", snapshot);
  ASSERT_TRUE(published.ok()) << published.status().to_string();
  expect_reads_back(posix_fs(), published->path, snapshot, random);
  const auto report = verify_checkpoint(posix_fs(), published->path);
  ASSERT_TRUE(report.ok());
  EXPECT_TRUE(report->damage.empty());
  EXPECT_EQ(testing::get_text(posix_fs(), dir / "run/checkpoint/latest"), "step-00000040\n");
}

}  // namespace
}  // namespace titan::ckpt::writer_test
