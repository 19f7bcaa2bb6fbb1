#include "libtrain/engine/checkpoint/checkpointer.h"

#include <gmock/gmock.h>

#include "ckpt/base/files.h"
#include "libtrain/job/control/agree.h"
#include "tests/libtrain/support/tiny_model.h"
#include "tests/support/checkpoints.h"
#include "tests/support/failing_fs.h"
#include "tests/support/mem_fs.h"

namespace titan::train::checkpointer_test {
namespace {

using namespace titan::test;
using ckpt::testing::MemFs;
using testing::HasSubstr;

constexpr const char* kDir = "/run/checkpoint";

ckpt::Snapshot snapshot_of(const recipe::RunPlan& plan, std::uint64_t step) {
  ckpt::Snapshot snapshot = ckpt::testing::make_snapshot(plan.parameters, plan.mesh, kLeaf, step);
  snapshot.parameters = plan.parameters;  // with the plan's stages
  snapshot.stage_cuts = plan.stage_cuts;
  return snapshot;
}

/// Every rank of a 2 x 2 mesh saves the snapshot that `change` makes of the common one; the statuses by rank.
std::vector<ckpt::Status> save(MemFs& fs, const std::function<void(int rank, ckpt::Snapshot&)>& change) {
  EXPECT_TRUE(ckpt::make_dirs(fs, kDir).ok());
  const recipe::RunPlan plan = make_plan(tiny_dims(), {2, {2}}, 8);
  std::vector<ckpt::Status> statuses(plan.mesh.world());
  run_ranks(plan.mesh, [&](World& world) {
    RankStages stage(plan, world.stage, kSeqLen);
    stage.init_weights(3);
    const ShardedAdamW optimizer(plan, owners_of(plan), world, stage, {});
    Checkpointer checkpointer(fs, world, kDir);
    ckpt::Snapshot snapshot = snapshot_of(plan, 10);
    change(world.rank, snapshot);
    statuses[static_cast<std::size_t>(world.rank)] = checkpointer.save(snapshot, optimizer, {}).status();
  });
  return statuses;
}

TEST(Checkpointer, ARankThatPlansAnotherSaveIsNamedAndNothingIsPublished) {
  struct Case {
    const char* what;
    std::function<void(ckpt::Snapshot&)> change;
  };
  const Case cases[] = {
      {"step", [](ckpt::Snapshot& s) { s.train.step = 11; }},
      {"tokens", [](ckpt::Snapshot& s) { ++s.train.tokens; }},
      {"position", [](ckpt::Snapshot& s) { ++s.data.samples; }},
      {"codec", [](ckpt::Snapshot& s) { s.codec = ckpt::Codec::kZstd; }},
      {"slots", [](ckpt::Snapshot& s) { s.slots = {ckpt::kExpAvg}; }},
      {"dtype", [](ckpt::Snapshot& s) { s.dtype = ckpt::DType::kBF16; }},
      {"optimizer step", [](ckpt::Snapshot& s) { ++s.optimizer_step; }},
      {"learning rate", [](ckpt::Snapshot& s) { s.lr.phases.back().end *= 2; }},
      {"accepted settings", [](ckpt::Snapshot& s) { s.train.accepted.front().second = "0.002"; }},
      {"configuration", [](ckpt::Snapshot& s) { s.config.back().second = "101"; }},
      {"mesh",
       [](ckpt::Snapshot& s) {
         s.mesh = {1, 4, 1};
       }},
      {"files",
       [](ckpt::Snapshot& s) {
         s.makers = {0, 0, 2, 2};
       }},
      {"a shape", [](ckpt::Snapshot& s) { s.parameters.back().shape.push_back(1); }},
  };
  for (const Case& c : cases) {
    MemFs fs;
    const auto statuses = save(fs, [&](int rank, ckpt::Snapshot& snapshot) {
      if (rank == 1) c.change(snapshot);
    });
    for (std::size_t rank = 0; rank < statuses.size(); ++rank) {
      EXPECT_EQ(statuses[rank].code, ckpt::Code::kFailed) << c.what;
      EXPECT_THAT(statuses[rank].message, HasSubstr("rank 1 plans another save than rank 0"))
          << c.what << ", told to rank " << rank;
    }
    const auto left = fs.list(kDir);
    ASSERT_TRUE(left.ok());
    EXPECT_TRUE(left->empty()) << c.what << ": " << left->front().name;
  }
}

TEST(Checkpointer, WhatIsAMachinesOwnMayDiffer) {
  MemFs fs;
  const auto statuses = save(fs, [](int rank, ckpt::Snapshot& snapshot) {
    snapshot.created = "2026-01-02T03:04:0" + std::to_string(rank) + "Z";
    snapshot.train.wall_time_s = rank;
    snapshot.train.environment = {{"isa", "of rank " + std::to_string(rank)}};
    snapshot.config.insert(snapshot.config.begin(), {"job.dump_folder", "\"/" + std::to_string(rank) + "\""});
  });
  for (const ckpt::Status& status : statuses) EXPECT_TRUE(status.ok()) << status.to_string();
  EXPECT_TRUE(fs.stat(std::string(kDir) + "/step-00000010/manifest.json").ok());
}

TEST(Checkpointer, AResumeReadsEachStoredByteOnceAndTheRanksShareWhatTheyRead) {
  MemFs memory;
  for (const ckpt::Status& status : save(memory, [](int, ckpt::Snapshot&) {})) ASSERT_TRUE(status.ok());
  const std::string path = std::string(kDir) + "/step-00000010";
  RankStages whole(make_plan(tiny_dims(), {}, 8), 0, kSeqLen);
  whole.init_weights(3);
  std::uint64_t elements = 0;
  for (const auto* p : whole.parameters()) elements += static_cast<std::uint64_t>(p->master.numel());
  for (const auto& [layout, bf16] : {std::pair(Layout{4, {}}, false),
                                     {Layout{4, {}}, true},
                                     {Layout{2, {2}}, false},
                                     {Layout{1, {1, 2, 3}}, true},
                                     {Layout{3, {}}, false}}) {
    const recipe::RunPlan plan = make_plan(tiny_dims(), layout, 8, bf16);
    ckpt::testing::FailingFs fs(memory);
    const auto manifest = ckpt::CheckpointReader::open(fs, path)->manifest();
    fs.clear_calls();
    run_ranks(plan.mesh, [&](World& world) {
      RankStages stage(plan, world.stage, kSeqLen);
      const ckpt::Ownership owners = owners_of(plan);
      ShardedAdamW optimizer(plan, owners, world, stage, {});
      const auto reader = ckpt::CheckpointReader::known(fs, path, manifest);
      ckpt::CancelSource stop;
      stop.request(ckpt::StopReason::kTerminate);
      ASSERT_EQ(Checkpointer::load(reader, plan, optimizer, true, ckpt::CancelToken(stop)).code,
                ckpt::Code::kTerminated);
      ASSERT_TRUE(Checkpointer::load(reader, plan, optimizer, true).ok());
      optimizer.own_masters(stage);
      GradientExchange(world, plan, owners, stage).send_weights(optimizer.params());
      for (const auto* p : stage.parameters()) {
        const at::Tensor expected = whole.parameters()[p->index]->master.to(p->compute.scalar_type());
        EXPECT_TRUE(same_bits(floats(p->compute), floats(expected))) << p->name;
      }
    });
    // Weights and two moments; rows of digests come on top, which weigh more here, where leaves have 4 KiB. In bf16
    // each rank owns a part of the embedding and one of the rest: rows of one range more.
    constexpr std::uint64_t kRowsOfRange = 1024;
    EXPECT_GE(fs.bytes_read(), 3 * 4 * elements);
    EXPECT_LE(fs.bytes_read(), 3 * 4 * elements * 11 / 10 + (bf16 ? plan.mesh.world() * kRowsOfRange : 0))
        << plan.mesh.world() << " ranks";
  }
}

/// Counts what a rank asks of its group.
class Counting final : public Control {
 public:
  explicit Counting(Control& inner) : inner_(inner) {}
  int rank() const override { return inner_.rank(); }
  int size() const override { return inner_.size(); }
  void sum(std::span<std::int64_t> values) override {
    ++sums;
    summed += values.size();
    inner_.sum(values);
  }
  std::string broadcast(const std::string& bytes, int root) override {
    ++others;
    return inner_.broadcast(bytes, root);
  }
  void sum(std::span<double>) override { ++others; }
  void send_bytes(std::string_view, int, std::uint64_t) override { ++others; }
  void recv_bytes(std::span<char>, int, std::uint64_t) override { ++others; }
  std::vector<std::string> all_gather(const std::string&) override {
    ++others;
    return {};
  }
  void barrier() override { ++others; }
  std::size_t sums = 0, summed = 0, others = 0;

 private:
  Control& inner_;
};

TEST(Agree, CostsOneSumOfOneNumberWhileAllIsWell) {
  run_ranks({1, 5, 1}, [](World& world) {
    Counting counting(*world.io);
    EXPECT_TRUE(agree(counting, ckpt::ok_status()).ok());
    EXPECT_EQ(counting.sums, 1u);
    EXPECT_EQ(counting.summed, 1u);
    EXPECT_EQ(counting.others, 0u);
  });
}

TEST(Agree, EveryRankHearsTheLowestThatFailed) {
  run_ranks({1, 5, 1}, [](World& world) {
    Counting counting(*world.io);
    const ckpt::Status mine = world.rank >= 3 ? ckpt::not_found("gone").with_hint("look there") : ckpt::ok_status();
    const ckpt::Status all = agree(counting, mine);
    EXPECT_EQ(all.code, ckpt::Code::kNotFound);
    EXPECT_EQ(all.message, world.rank == 3 ? "gone" : "gone (rank 3)");
    EXPECT_EQ(all.hint, "look there");
    EXPECT_EQ(counting.others, 1u) << "one broadcast of one text";
  });
}

}  // namespace
}  // namespace titan::train::checkpointer_test
