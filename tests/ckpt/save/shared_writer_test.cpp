#include "ckpt/save/shared_writer.h"

#include <gmock/gmock.h>

#include "ckpt/base/files.h"
#include "ckpt/base/fs_posix.h"
#include "ckpt/plan/file_makers.h"
#include "ckpt/read/reader.h"
#include "ckpt/read/verifier.h"
#include "ckpt/save/commit.h"
#include "ckpt/save/writer.h"
#include "tests/support/checkpoints.h"
#include "tests/support/failing_fs.h"
#include "tests/support/files.h"
#include "tests/support/mem_fs.h"

namespace titan::ckpt::shared_writer_test {
namespace {

using ::testing::ElementsAre;
using testing::FailingFs;
using testing::Fault;
using ::testing::HasSubstr;
using testing::MemFs;
using testing::Op;
using testing::PatternSource;

// Four ranks of one host.
Snapshot snapshot_of(std::uint32_t files) {
  Snapshot snapshot = testing::make_snapshot(testing::small_model(), {2, 2, 1}, 100);
  const std::vector<std::string> hosts(snapshot.mesh.world(), "host");
  snapshot.makers = file_makers(hosts, files);
  snapshot.read_back = ReadBack::kAll;
  return snapshot;
}

std::vector<std::string> shards(Fs& fs, const std::string& step) {
  std::vector<std::string> names;
  const auto manifest = CheckpointReader::open(fs, step)->manifest();
  for (const FileEntry& file : manifest.files)
    if (file.role == FileRole::kShard) names.push_back(file.path);
  return names;
}

TEST(SharedWriter, TheNumberOfFilesChangesNeitherTheIdNorABit) {
  MemFs fs;
  const auto own = testing::save(fs, "/own", snapshot_of(4));
  ASSERT_TRUE(own.ok()) << own.status().to_string();
  EXPECT_EQ(shards(fs, own->path).size(), 8u);
  for (const std::uint32_t files : {1u, 2u, 3u}) {
    const Snapshot snapshot = snapshot_of(files);
    const auto shared = testing::save(fs, "/run" + std::to_string(files), snapshot);
    ASSERT_TRUE(shared.ok()) << shared.status().to_string();
    EXPECT_EQ(shared->id, own->id);
    EXPECT_EQ(shards(fs, shared->path).size(), 2 * files);
    const auto report = verify_checkpoint(fs, shared->path);
    ASSERT_TRUE(report.ok()) << report.status().to_string();
    EXPECT_TRUE(report->damage.empty()) << report->damage[0].file << " " << report->damage[0].detail;
    const auto reader = CheckpointReader::open(fs, shared->path);
    ASSERT_TRUE(reader.ok());
    EXPECT_EQ(reader->manifest().minor, 0u);  // the oldest reader knows all of it
    for (std::uint32_t i = 0; i < snapshot.parameters.size(); ++i) {
      const LeafGrid grid = snapshot.parameters[i].grid(snapshot.leaf_elements);
      for (const char* slot : {"", kExpAvg, kExpAvgSq}) {
        std::vector<std::byte> bytes(grid.elements * dtype_size(snapshot.dtype));
        ASSERT_TRUE(reader->read({i, slot}, {0, grid.count()}, bytes).ok());
        EXPECT_EQ(bytes, testing::pattern(snapshot, {i, slot}, {0, grid.count()}));
      }
    }
  }
}

TEST(SharedWriter, WritesPastThePageCacheFromSeveralDescriptors) {
  const testing::TempDir scratch;
  Snapshot snapshot = testing::make_snapshot({{"a", {300'000}}, {"b", {7}}, {"c", {50'001}}}, {1, 3, 1}, 20'000);
  snapshot.makers = {0, 0, 0};
  snapshot.read_back = ReadBack::kAll;
  const auto shared = testing::save(posix_fs(), scratch / "run", snapshot);
  ASSERT_TRUE(shared.ok()) << shared.status().to_string();
  const auto report = verify_checkpoint(posix_fs(), shared->path);
  ASSERT_TRUE(report.ok()) << report.status().to_string();
  EXPECT_TRUE(report->damage.empty());
  EXPECT_THAT(shards(posix_fs(), shared->path), ElementsAre("model/shard-00000.h5", "optimizer/shard-00000.h5"));
  EXPECT_FALSE(posix_fs().stat(shared->path + "/model/shard-00000.h5")->writable);
}

TEST(SharedWriter, CompressedLeavesLieInFilesOfTheirOwnRank) {
  Snapshot snapshot = snapshot_of(1);
  snapshot.codec = Codec::kZstd;
  EXPECT_FALSE(shares_files(snapshot));
  MemFs fs;
  const auto saved = testing::save(fs, "/run", snapshot);
  ASSERT_TRUE(saved.ok()) << saved.status().to_string();
  EXPECT_EQ(shards(fs, saved->path).size(), 8u);
}

TEST(SharedWriter, EachWriterSyncsWhatItWrote) {
  MemFs memory;
  FailingFs fs(memory);
  ASSERT_TRUE(testing::save(fs, "/run", snapshot_of(1)).ok());
  std::uint64_t syncs = 0;
  for (const testing::Call& call : fs.calls())
    if (call.op == Op::kDatasync && call.path.ends_with("/model/shard-00000.h5")) ++syncs;
  EXPECT_EQ(syncs, 4u);
}

TEST(SharedWriter, AnyCallThatFailsFailsTheSaveAndLeavesNothing) {
  for (const Op op : {Op::kCreate, Op::kOpenRead, Op::kPwrite, Op::kTruncate, Op::kDatasync, Op::kClose, Op::kSyncDir,
                      Op::kSetReadOnly}) {
    for (std::uint64_t k = 1;; ++k) {
      MemFs memory;
      FailingFs fs(memory);
      fs.arm({.op = op, .path_part = op == Op::kSyncDir ? "" : "/shard-", .k = k});
      const auto published = testing::save(fs, "/run", snapshot_of(2));
      if (!fs.fired()) break;
      if (published.ok()) continue;  // what comes behind the commit
      EXPECT_FALSE(fs.synced_after_failure());
      const auto left = memory.list("/run");
      EXPECT_TRUE(!left.ok() || left->empty() || left->front().name == "step-00000040")
          << testing::op_name(op) << " " << k << ": " << left->front().name;
    }
  }
}

TEST(SharedWriter, AWriterThatSaysNothingFailsTheFile) {
  const Snapshot snapshot = snapshot_of(2);
  MemFs fs;
  ASSERT_TRUE(make_dirs(fs, "/run").ok());
  const std::string tmp = begin_save(fs, "/run", snapshot, "0123456789ab").value();
  PatternSource source(snapshot);
  SharedWriter maker(fs, tmp, snapshot, 0, 1), writer(fs, tmp, snapshot, 1, 1);
  EXPECT_TRUE(maker.makes_files());
  EXPECT_FALSE(writer.makes_files());
  ASSERT_TRUE(maker.make().ok());
  ASSERT_TRUE(writer.make().ok());
  ASSERT_TRUE(maker.write(source).ok());
  RankReceipt written = writer.write(source).value();
  EXPECT_THAT(maker.complete({}).status().message, HasSubstr("was never written"));

  RankReceipt moved = written;
  ++moved.items.back().piece.offset;
  EXPECT_THAT(maker.complete({moved}).status().message, HasSubstr("was put elsewhere"));
}

TEST(SharedWriter, RefusesReceiptsOfOtherTensors) {
  const Snapshot snapshot = snapshot_of(2);
  for (const bool too_few : {true, false}) {
    MemFs fs;
    ASSERT_TRUE(make_dirs(fs, "/run").ok());
    const std::string tmp = begin_save(fs, "/run", snapshot, "0123456789ab").value();
    PatternSource source(snapshot);
    SharedWriter maker(fs, tmp, snapshot, 0, 1), writer(fs, tmp, snapshot, 1, 1);
    ASSERT_TRUE(maker.make().ok());
    ASSERT_TRUE(maker.write(source).ok());
    RankReceipt written = writer.write(source).value();
    if (too_few)
      written.items.pop_back();
    else
      written.items.push_back(written.items.back());
    EXPECT_THAT(maker.complete({written}).status().message,
                HasSubstr(too_few ? "which it writes" : "that it does not write"));
  }
}

}  // namespace
}  // namespace titan::ckpt::shared_writer_test
