#include "libtrain/engine/checkpoint/background_saver.h"

#include <gmock/gmock.h>

#include <atomic>
#include <condition_variable>
#include <mutex>
#include <thread>

#include "ckpt/base/files.h"
#include "ckpt/plan/file_makers.h"
#include "libtrain/engine/device/cpu/cpu_device.h"
#include "tests/libtrain/support/tiny_model.h"
#include "tests/support/checkpoints.h"
#include "tests/support/failing_fs.h"
#include "tests/support/mem_fs.h"
#include "tests/support/unshared_fs.h"

namespace titan::train::background_saver_test {
namespace {

using namespace titan::test;
using ckpt::testing::FailingFs;
using ckpt::testing::Fault;
using ckpt::testing::MemFs;
using ckpt::testing::Op;
using ckpt::testing::UnsharedFs;

constexpr const char* kDir = "/run/checkpoint";
constexpr std::uint64_t kPlenty = 1 << 30;

enum class Files { kOwn, kShared };

ckpt::Snapshot snapshot_of(const recipe::RunPlan& plan, std::uint64_t step, ckpt::Codec codec = ckpt::Codec::kRaw,
                           Files files = Files::kOwn) {
  ckpt::Snapshot snapshot = ckpt::testing::make_snapshot(plan.parameters, plan.mesh, kLeaf, step);
  snapshot.parameters = plan.parameters;  // with the plan's stages
  snapshot.stage_cuts = plan.stage_cuts;
  snapshot.codec = codec;
  const std::vector<std::string> hosts(plan.mesh.world(), "one");
  if (files == Files::kShared) snapshot.makers = ckpt::file_makers(hosts, 2);
  return snapshot;
}

/// What one rank has, with weights and moments that are no zeros.
struct Rank {
  Rank(const recipe::RunPlan& plan, World& world, ckpt::Fs& fs)
      : stage(plan, world.stage, kSeqLen),
        optimizer(plan, owners_of(plan), world, stage, {}),
        checkpointer(fs, world, kDir) {
    stage.init_weights(3);
    optimizer.own_masters(stage);
    for (ShardedAdamW::State& state : optimizer.states()) {
      state.exp_avg.copy_(state.param).mul_(2);
      state.exp_avg_sq.copy_(state.param).mul_(3);
    }
  }
  /// As an update would.
  void change() {
    for (ShardedAdamW::State& state : optimizer.states())
      for (at::Tensor* tensor : {&state.param, &state.exp_avg, &state.exp_avg_sq}) tensor->fill_(99);
  }

  RankStages stage;
  ShardedAdamW optimizer;
  Checkpointer checkpointer;
};

BackgroundSaver::Options options_of(World& world, std::uint64_t staging, unsigned threads = 1,
                                    bool stages_ahead = false) {
  return {world.save.get(), kLeaf * sizeof(float), staging, threads, stages_ahead};
}

/// Holds up whoever creates a shard until it is opened.
class Gate {
 public:
  explicit Gate(UnsharedFs& fs) {
    fs.on_create = [this](const std::string& path) {
      if (path.find("/shard-") == std::string::npos) return;
      std::unique_lock lock(mutex_);
      changed_.wait(lock, [this] { return open_; });
    };
  }
  void open() {
    const std::lock_guard lock(mutex_);
    open_ = true;
    changed_.notify_all();
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  bool open_ = false;
};

ckpt::Digest id_of_a_synchronous_save(const recipe::RunPlan& plan) {
  MemFs fs;
  EXPECT_TRUE(ckpt::make_dirs(fs, kDir).ok());
  ckpt::Digest id;
  run_ranks(plan.mesh, [&](World& world) {
    Rank rank(plan, world, fs);
    const auto report = rank.checkpointer.save(snapshot_of(plan, 10), rank.optimizer, {});
    ASSERT_TRUE(report.ok()) << report.status().to_string();
    if (world.rank == 0) id = report->id;
  });
  return id;
}

TEST(BackgroundSaver, WhatIsNotWrittenIsSavedAsItWasOnEveryLayout) {
  use_one_thread();
  for (const Layout& layout : {Layout{1, {}}, Layout{2, {2}}}) {
    const recipe::RunPlan plan = make_plan(tiny_dims(), layout, 8);
    const ckpt::Digest expected = id_of_a_synchronous_save(plan);
    for (const auto& [codec, files] : {std::pair(ckpt::Codec::kRaw, Files::kOwn),
                                       {ckpt::Codec::kRaw, Files::kShared},
                                       {ckpt::Codec::kZstd, Files::kOwn}}) {
      // None, some, all: what has no room is waited for, while the store is slow.
      for (const std::uint64_t staging : {std::uint64_t{0}, 5 * kLeaf * sizeof(float), kPlenty}) {
        MemFs memory;
        UnsharedFs fs(memory);
        EXPECT_TRUE(ckpt::make_dirs(fs, kDir).ok());
        Gate gate(fs);
        std::atomic<std::uint32_t> changed = 0;
        std::thread opener([&] {
          // With room for all of it nobody waits for the store.
          if (staging == kPlenty)
            for (std::uint32_t now = changed; now != plan.mesh.world(); now = changed) changed.wait(now);
          else
            std::this_thread::sleep_for(std::chrono::milliseconds(10));
          gate.open();
        });
        run_ranks(plan.mesh, [&](World& world) {
          Rank rank(plan, world, fs);
          BackgroundSaver saver(rank.checkpointer, options_of(world, staging, 2));
          saver.start(snapshot_of(plan, 10, codec, files), rank.optimizer, BackgroundSaver::Clock::now(), {});
          saver.before_update();
          rank.change();
          ++changed;
          changed.notify_all();
          const SaveOutcome outcome = saver.take();
          ASSERT_TRUE(outcome.report.ok()) << outcome.report.status().to_string();
          EXPECT_FALSE(saver.busy());
          EXPECT_EQ(outcome.step, 10u);
          if (world.rank == 0) {
            EXPECT_EQ(outcome.report->id, expected) << plan.mesh.world() << " " << staging;
          }
        });
        opener.join();
      }
    }
  }
}

/// Counts what was copied for savers.
class CountingDevice final : public CpuDevice {
 public:
  void copy_out(const at::Tensor& values, std::span<std::byte> to, const Fence* fence) override {
    CpuDevice::copy_out(values, to, fence);
    ++copies;
  }
  std::atomic<std::uint64_t> copies = 0;
};

// The store takes nothing for as long as it likes: an update waits for none of it, and not for copies either.
TEST(BackgroundSaver, WithStagingAheadAllIsCopiedBeforeAnUpdateAsks) {
  use_one_thread();
  const recipe::RunPlan plan = make_plan(tiny_dims(), {1, {}}, 8);
  const ckpt::Digest expected = id_of_a_synchronous_save(plan);
  CountingDevice counting;
  use_device(&counting);
  MemFs memory;
  UnsharedFs fs(memory);
  EXPECT_TRUE(ckpt::make_dirs(fs, kDir).ok());
  Gate gate(fs);
  run_ranks(plan.mesh, [&](World& world) {
    Rank rank(plan, world, fs);
    std::uint64_t leaves = 0;
    for (const ShardedAdamW::State& state : rank.optimizer.states()) leaves += 3 * state.piece.leaves.count;
    BackgroundSaver saver(rank.checkpointer, options_of(world, kPlenty, 2, true));
    saver.start(snapshot_of(plan, 10), rank.optimizer, BackgroundSaver::Clock::now(), {});
    const auto deadline = BackgroundSaver::Clock::now() + std::chrono::seconds(30);
    while (counting.copies < leaves && BackgroundSaver::Clock::now() < deadline)
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    EXPECT_EQ(counting.copies, leaves);
    saver.before_update();
    rank.change();
    EXPECT_EQ(counting.copies, leaves) << "each once";
    gate.open();
    const SaveOutcome outcome = saver.take();
    ASSERT_TRUE(outcome.report.ok()) << outcome.report.status().to_string();
    EXPECT_EQ(outcome.report->id, expected);
  });
  use_device(nullptr);
}

TEST(BackgroundSaver, AFailureEarlyOrLateIsEveryRanksAndTheNextSaveHolds) {
  const recipe::RunPlan plan = make_plan(tiny_dims(), {2, {2}}, 8);
  struct Case {
    Fault fault;
    Files files = Files::kOwn;
  };
  for (const auto& [fault, files] : {Case{{.op = Op::kMakeDir}},
                                     {{.op = Op::kCreate, .path_part = "/model/shard-00001"}},
                                     {{.op = Op::kPwrite, .path_part = "/optimizer/", .k = 3}},
                                     {{.op = Op::kDatasync, .path_part = "/optimizer/shard-00003"}},
                                     {{.op = Op::kRenameNoReplace}},
                                     {{.op = Op::kCreate, .path_part = "/model/shard-00002"}, Files::kShared},
                                     {{.op = Op::kOpenRead, .path_part = "/optimizer/shard-00002"}, Files::kShared},
                                     {{.op = Op::kDatasync, .path_part = "/model/shard-00000"}, Files::kShared},
                                     {{.op = Op::kClose, .path_part = "/model/shard-00002", .k = 2}, Files::kShared},
                                     {{.op = Op::kSetReadOnly, .path_part = "/shard-00002"}, Files::kShared}}) {
    MemFs memory;
    FailingFs fs(memory);
    EXPECT_TRUE(ckpt::make_dirs(fs, kDir).ok());
    fs.arm(fault);
    run_ranks(plan.mesh, [&](World& world) {
      Rank rank(plan, world, fs);
      BackgroundSaver saver(rank.checkpointer, options_of(world, 0));
      for (const bool fails : {true, false}) {
        saver.start(snapshot_of(plan, 10, ckpt::Codec::kRaw, files), rank.optimizer, BackgroundSaver::Clock::now(), {});
        saver.before_update();
        const SaveOutcome outcome = saver.take();
        EXPECT_EQ(outcome.report.ok(), !fails) << outcome.report.status().to_string();
        world.io->barrier();
        if (fails && world.rank == 0) {
          EXPECT_TRUE(memory.list(kDir)->empty()) << memory.list(kDir)->front().name;
        }
        world.io->barrier();
      }
    });
    EXPECT_TRUE(fs.fired());
    EXPECT_TRUE(memory.stat(std::string(kDir) + "/step-00000010/manifest.json").ok());
  }
}

TEST(BackgroundSaver, ASaveThatIsGivenUpLeavesNothing) {
  const recipe::RunPlan plan = make_plan(tiny_dims(), {2, {2}}, 8);
  MemFs memory;
  UnsharedFs fs(memory);
  EXPECT_TRUE(ckpt::make_dirs(fs, kDir).ok());
  Gate gate(fs);
  run_ranks(plan.mesh, [&](World& world) {
    Rank rank(plan, world, fs);
    std::thread opener;
    {
      BackgroundSaver saver(rank.checkpointer, options_of(world, kPlenty));
      saver.start(snapshot_of(plan, 10), rank.optimizer, BackgroundSaver::Clock::now(), {});
      EXPECT_THROW(saver.start(snapshot_of(plan, 11), rank.optimizer, BackgroundSaver::Clock::now(), {}),
                   std::logic_error);
      opener = std::thread([&] {
        std::this_thread::sleep_for(std::chrono::milliseconds(10));
        gate.open();
      });
    }
    opener.join();
  });
  EXPECT_TRUE(memory.list(kDir)->empty()) << memory.list(kDir)->front().name;
}

TEST(BackgroundSaver, ALostRankEndsItAndTheTemporaryGoes) {
  const recipe::RunPlan plan = make_plan(tiny_dims(), {2, {}}, 8);
  MemFs memory;
  EXPECT_TRUE(ckpt::make_dirs(memory, kDir).ok());
  EXPECT_THROW(run_ranks(plan.mesh,
                         [&](World& world) {
                           if (world.rank == 1) throw CommError("gone");
                           Rank rank(plan, world, memory);
                           BackgroundSaver saver(rank.checkpointer, options_of(world, 0));
                           saver.start(snapshot_of(plan, 10), rank.optimizer, BackgroundSaver::Clock::now(), {});
                           saver.before_update();
                           EXPECT_THROW(saver.take(), CommError);
                           throw CommError("a peer failed");
                         }),
               CommError);
  EXPECT_TRUE(memory.list(kDir)->empty()) << memory.list(kDir)->front().name;
}

}  // namespace
}  // namespace titan::train::background_saver_test
