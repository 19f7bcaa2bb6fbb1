#include "libtrain/engine/checkpoint/shared_write.h"

#include <gmock/gmock.h>

#include "ckpt/base/files.h"
#include "ckpt/save/commit.h"
#include "ckpt/save/writer.h"
#include "tests/libtrain/support/thread_world.h"
#include "tests/support/checkpoints.h"
#include "tests/support/failing_fs.h"
#include "tests/support/mem_fs.h"

namespace titan::train::shared_write_test {
namespace {

using ckpt::testing::FailingFs;
using ckpt::testing::MemFs;
using ckpt::testing::Op;
using ::testing::HasSubstr;

// Ranks 0 and 1 write into files of rank 0, ranks 2 and 3 into those of rank 2.
ckpt::Snapshot snapshot_of() {
  ckpt::Snapshot snapshot = ckpt::testing::make_snapshot(ckpt::testing::small_model(), {2, 2, 1}, 100);
  snapshot.makers = {0, 0, 2, 2};
  return snapshot;
}

std::vector<ckpt::Result<ckpt::RankReceipt>> write(ckpt::Fs& fs, const std::string& tmp,
                                                   const ckpt::Snapshot& snapshot) {
  std::vector<ckpt::Result<ckpt::RankReceipt>> receipts(snapshot.mesh.world(), ckpt::failed("not there"));
  test::run_ranks(snapshot.mesh, [&](World& world) {
    ckpt::testing::PatternSource source(snapshot);
    receipts[static_cast<std::size_t>(world.rank)] = write_shared(*world.io, fs, tmp, snapshot, source, 2);
  });
  return receipts;
}

TEST(SharedWrite, TheReceiptsOfTheMakersAreThoseOfASave) {
  const ckpt::Snapshot snapshot = snapshot_of();
  MemFs fs;
  const auto expected = ckpt::testing::save(fs, "/played", snapshot);
  ASSERT_TRUE(expected.ok());
  ASSERT_TRUE(ckpt::make_dirs(fs, "/run").ok());
  const std::string tmp = ckpt::begin_save(fs, "/run", snapshot, "0123456789ab").value();
  std::vector<ckpt::RankReceipt> receipts;
  for (const auto& receipt : write(fs, tmp, snapshot)) {
    ASSERT_TRUE(receipt.ok()) << receipt.status().to_string();
    EXPECT_EQ(receipt->items.empty(), receipt->rank % 2 == 1);
    receipts.push_back(*receipt);
  }
  const auto published = ckpt::commit_save(fs, "/run", tmp, snapshot, receipts);
  ASSERT_TRUE(published.ok()) << published.status().to_string();
  EXPECT_EQ(published->id, expected->id);
}

TEST(SharedWrite, AWriterThatFailsIsNamedToAllBeforeATableIsWritten) {
  const ckpt::Snapshot snapshot = snapshot_of();
  MemFs memory;
  FailingFs fs(memory);
  ASSERT_TRUE(ckpt::make_dirs(fs, "/run").ok());
  const std::string tmp = ckpt::begin_save(fs, "/run", snapshot, "0123456789ab").value();
  fs.arm({.op = Op::kOpenRead, .path_part = "/model/shard-00002"});  // of rank 3, which joins
  const auto receipts = write(fs, tmp, snapshot);
  for (std::size_t rank = 0; rank < receipts.size(); ++rank) {
    ASSERT_FALSE(receipts[rank].ok());
    EXPECT_THAT(receipts[rank].status().message, rank == 3 ? HasSubstr("open") : HasSubstr("(rank 3)"));
  }
  EXPECT_EQ(fs.count(Op::kSetReadOnly), 0u);
}

}  // namespace
}  // namespace titan::train::shared_write_test
