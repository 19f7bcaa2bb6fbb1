// Bounds on counts at 10,000 simulated ranks: what a start, a plan, a commit and a gather may cost. Seconds are the
// bench's business.
#include <gmock/gmock.h>

#include <numeric>

#include "ckpt/format/member_names.h"
#include "ckpt/read/reader.h"
#include "ckpt/read/snapshot.h"
#include "ckpt/read/virtual_model.h"
#include "ckpt/run/retention.h"
#include "ckpt/save/commit.h"
#include "ckpt/save/receipt.h"
#include "libtrain/job/control/gather.h"
#include "libtrain/job/start/preview.h"
#include "libtrain/job/start/start_message.h"
#include "libtrain/job/start/threads.h"
#include "tests/bench/scale/simulation.h"
#include "tests/support/failing_fs.h"
#include "tests/support/mem_fs.h"

namespace titan::bench::scale_test {
namespace {

using ckpt::testing::Call;
using ckpt::testing::FailingFs;
using ckpt::testing::MemFs;
using ckpt::testing::Op;

constexpr const char* kDir = "/run/checkpoint";
constexpr std::uint64_t kCapacity = std::uint64_t{1} << 50;

ckpt::Snapshot with_ownership(ckpt::Snapshot snapshot) {
  snapshot.ownership = ckpt::ownership_of(snapshot);
  return snapshot;
}

/// A bisection of 64 bits, each step of which looks at the runs of leaves and at the ranges that it fills.
std::uint64_t one_partition(const ckpt::Snapshot& snapshot) {
  return 66 * (2 * snapshot.parameters.size() + snapshot.mesh.world() + snapshot.mesh.pp);
}

class ScaleOf : public testing::TestWithParam<Scale> {};

TEST_P(ScaleOf, OnePartitionServesPlanWritersAndCommit) {
  MemFs fs(kCapacity);
  const std::uint64_t before = ckpt::partition_work();
  const ckpt::Snapshot snapshot = with_ownership(make_snapshot(GetParam(), 1000));
  const auto saved = play_save(fs, kDir, snapshot);
  ASSERT_TRUE(saved.ok()) << saved.status().to_string();
  EXPECT_LT(ckpt::partition_work() - before, one_partition(snapshot))
      << "for all " << snapshot.mesh.world() << " ranks together";
}

TEST_P(ScaleOf, ReceiptsReachRankZeroInTwoLevels) {
  MemFs fs(kCapacity);
  const ckpt::Snapshot snapshot = with_ownership(make_snapshot(GetParam(), 1000));
  const auto tmp = play_begin(fs, kDir, snapshot);
  ASSERT_TRUE(tmp.ok()) << tmp.status().to_string();
  const int ranks = static_cast<int>(snapshot.mesh.world()), width = train::gather_width(ranks);
  EXPECT_LE((width - 1) * (width - 1), ranks);
  std::vector<std::uint64_t> sizes;
  const auto bytes_of = [&](int rank) {
    if (sizes.empty()) sizes.resize(static_cast<std::size_t>(ranks));
    const auto receipt = play_write(fs, *tmp, snapshot, static_cast<std::uint32_t>(rank));
    EXPECT_TRUE(receipt.ok()) << receipt.status().to_string();
    std::string bytes = ckpt::encode_receipt(*receipt);
    sizes[static_cast<std::size_t>(rank)] = bytes.size();
    return bytes;
  };
  Post post(ranks);
  std::vector<ckpt::RankReceipt> receipts;
  play_gather(post, bytes_of, [&](int rank, std::string_view bytes) {
    ASSERT_EQ(static_cast<std::size_t>(rank), receipts.size());
    auto receipt = ckpt::decode_receipt(bytes);
    ASSERT_TRUE(receipt.ok()) << receipt.status().to_string();
    receipts.push_back(std::move(*receipt));
  });
  EXPECT_TRUE(post.all_delivered());
  const auto published = ckpt::commit_save(fs, kDir, *tmp, snapshot, receipts);
  ASSERT_TRUE(published.ok()) << published.status().to_string();

  const std::uint64_t largest = *std::ranges::max_element(sizes),
                      all = std::accumulate(sizes.begin(), sizes.end(), std::uint64_t{0});
  for (int rank = 0; rank < ranks; ++rank) {
    const Traffic& traffic = post.traffic(rank);
    ASSERT_LE(traffic.largest, train::kLargestMessage) << "rank " << rank;
    if (rank == 0) continue;
    if (rank % width != 0) {
      ASSERT_EQ(traffic.bytes_in, 0u) << "rank " << rank << " holds its own receipt alone";
      continue;
    }
    ASSERT_LE(traffic.bytes_in, static_cast<std::uint64_t>(width) * (largest + 8))
        << "rank " << rank << " holds those of its group";
    ASSERT_LE(traffic.messages_in, static_cast<std::uint64_t>(width) * (2 + largest / train::kLargestMessage));
  }
  EXPECT_LE(post.traffic(0).bytes_in, all + 16 * static_cast<std::uint64_t>(ranks));
  EXPECT_LE(post.traffic(0).messages_in, 4 * static_cast<std::uint64_t>(width) + all / train::kLargestMessage);
}

TEST_P(ScaleOf, AStartLooksAtTheFilesOfOneStepOnceAndRetentionAtNamesAndPins) {
  MemFs memory(kCapacity);
  constexpr std::uint64_t kSteps = 3;
  std::string newest;
  for (std::uint64_t step = 1; step <= kSteps; ++step) {
    const auto saved = play_save(memory, kDir, with_ownership(make_snapshot(GetParam(), step * 1000)));
    ASSERT_TRUE(saved.ok()) << saved.status().to_string();
    newest = *saved;
  }
  const std::uint64_t files = ckpt::read_manifest(memory, newest)->files.size();
  recipe::LoadedConfig loaded;
  recipe::Config& config = loaded.config;
  config.job.dump_folder = "/run";

  // Before ranks meet, each may ask for the threads of the checkpoint; then rank 0 decides.
  FailingFs fs(memory);
  train::choose_threads(fs, {.loaded = loaded}, 8);
  EXPECT_EQ(fs.count(Op::kStat), 0u) << "once per rank where no launcher carries the answer";
  EXPECT_LE(fs.calls().size(), 32u);
  fs.clear_calls();
  const auto request = train::start_request(config, "auto");
  const auto decision = train::decide_start(fs, *request, {});
  ASSERT_TRUE(decision.ok()) << decision.status().to_string();
  ASSERT_EQ(decision->path, newest);
  const auto texts = train::json_texts(ckpt::CheckpointReader::known(fs, decision->path, *decision->manifest));
  ASSERT_TRUE(texts.ok()) << texts.status().to_string();
  const std::string word = train::encode_start({*decision, *texts});
  EXPECT_LE(fs.count(Op::kStat), files + kSteps) << "rank 0";

  // What every other rank does, up to the point where it reads leaves.
  FailingFs others(memory);
  auto heard = train::decode_start(word);
  ASSERT_TRUE(heard.ok()) << heard.status().to_string();
  EXPECT_EQ(heard->decision.manifest, decision->manifest);
  const auto reader =
      ckpt::CheckpointReader::known(others, heard->decision.path, *heard->decision.manifest, heard->json);
  const auto stored = train::read_stored(reader);
  ASSERT_TRUE(stored.ok()) << stored.status().to_string();
  EXPECT_EQ(stored->state.step, kSteps * 1000);
  EXPECT_TRUE(others.calls().empty()) << "a rank that takes rank 0's word asks the file system nothing";

  // Of what this process saved it reads the manifest, once; one step expires.
  FailingFs store(memory);
  std::vector<std::string> deleted, problems;
  ckpt::RetentionOptions options{kDir,
                                 {kSteps - 1},
                                 {},
                                 [&](const std::string& name, const std::string&) { deleted.push_back(name); },
                                 [&](const std::string& problem) { problems.push_back(problem); }};
  ckpt::Retention retention(store, options);
  for (std::uint64_t step = 1; step <= kSteps; ++step) retention.judge(step * 1000, ckpt::Verdict::kProved);
  retention.pass();
  EXPECT_THAT(deleted, testing::ElementsAre("step-00001000"));
  EXPECT_THAT(problems, testing::IsEmpty());
  EXPECT_LE(store.count(Op::kOpenRead), kSteps);
  EXPECT_LE(store.calls().size(), files + 8 * kSteps + 32) << "one call per file that goes";
  store.clear_calls();
  retention.pass();
  EXPECT_LE(store.count(Op::kStat), 2 * kSteps + 8) << "pins, and whether manifests are the same files";
  EXPECT_EQ(store.count(Op::kOpenRead), 0u);
}

TEST_P(ScaleOf, ACommitLooksAtEachMemberOnce) {
  MemFs memory(kCapacity);
  FailingFs fs(memory);
  const ckpt::Snapshot snapshot = with_ownership(make_snapshot(GetParam(), 1000));
  const auto tmp = play_begin(memory, kDir, snapshot);
  ASSERT_TRUE(tmp.ok()) << tmp.status().to_string();
  std::vector<ckpt::RankReceipt> receipts;
  std::size_t files = 3;
  for (std::uint32_t rank = 0; rank < snapshot.mesh.world(); ++rank) {
    receipts.push_back(*play_write(memory, *tmp, snapshot, rank));
    files += receipts.back().files.size();
  }
  const std::uint64_t before = ckpt::partition_work();
  const auto published = ckpt::commit_save(fs, kDir, *tmp, snapshot, receipts);
  ASSERT_TRUE(published.ok()) << published.status().to_string();
  EXPECT_EQ(ckpt::partition_work(), before) << "nothing is partitioned while all ranks wait";
  EXPECT_LE(fs.count(Op::kStat), files + 4);
  EXPECT_LE(fs.calls().size(), files + 64) << "calls of any kind";
}

INSTANTIATE_TEST_SUITE_P(Layouts, ScaleOf,
                         testing::Values(Scale{"70B", 8, 64}, Scale{"405B", 16, 64}, Scale{"405B", 16, 625},
                                         Scale{"405B", 1, 10'000}),
                         [](const auto& info) {
                           return "Llama" + std::string(info.param.model) + "On" + std::to_string(info.param.pp) + "x" +
                                  std::to_string(info.param.dp);
                         });

}  // namespace
}  // namespace titan::bench::scale_test
