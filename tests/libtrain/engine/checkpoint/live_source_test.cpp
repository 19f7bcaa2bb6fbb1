#include "libtrain/engine/checkpoint/live_source.h"

#include <atomic>

#include <gmock/gmock.h>

#include "libtrain/engine/device/cpu/cpu_device.h"
#include "tests/libtrain/support/tiny_model.h"
#include "tests/support/checkpoints.h"

namespace titan::train::live_source_test {
namespace {

using namespace titan::test;
using testing::HasSubstr;

/// The leaves of a run on one rank, and what a save of step 10 says of them.
template <typename Body>
void with_leaves(const Body& body) {
  const recipe::RunPlan plan = make_plan(tiny_dims(), {1, {}}, 8);
  const ckpt::Snapshot snapshot = ckpt::testing::make_snapshot(plan.parameters, plan.mesh, kLeaf, 10);
  run_ranks(plan.mesh, [&](World& world) {
    RankStages stage(plan, 0, kSeqLen);
    stage.init_weights(3);
    ShardedAdamW optimizer(plan, owners_of(plan), world, stage, {});
    body(optimizer, snapshot);
  });
}

TEST(LiveSource, GivesWhatWasThereOnceAndNothingAfterItWasClosed) {
  with_leaves([](ShardedAdamW& optimizer, const ckpt::Snapshot& snapshot) {
    Staging staging(kLeaf * sizeof(float), 1 << 30);
    LiveSource source(optimizer, snapshot, staging);
    ShardedAdamW::State& state = optimizer.states().front();
    const std::vector<float> before = floats(state.param);
    const ckpt::TensorRef ref{state.piece.parameter, ""};
    std::vector<float> scratch(kLeaf);

    source.before_update(2);
    state.param.fill_(99);
    const auto leaf = source.leaf(ref, 0, std::as_writable_bytes(std::span(scratch)));
    ASSERT_TRUE(leaf.ok()) << leaf.status().to_string();
    EXPECT_EQ(std::memcmp(leaf->data(), before.data(), leaf->size()), 0);

    const auto out = std::as_writable_bytes(std::span(scratch));
    EXPECT_THAT(source.leaf(ref, 0, out).status().message, HasSubstr("was read before"));
    EXPECT_THAT(source.leaf(ref, 1000, out).status().message, HasSubstr("not owned by this rank"));
    source.close();
    EXPECT_THAT(source.leaf({ref.index, ckpt::kExpAvg}, 0, out).status().message, HasSubstr("given up"));
  });
}

// A save that failed has read nothing: the next one needs the same room.
TEST(LiveSource, WhatWasStagedAndNeverReadGoesBack) {
  with_leaves([](ShardedAdamW& optimizer, const ckpt::Snapshot& snapshot) {
    std::size_t room = 0;
    for (const ShardedAdamW::State& state : optimizer.states())
      room += (1 + snapshot.slots.size()) * (state.piece.leaves.end() - state.piece.leaves.first);
    Staging staging(kLeaf * sizeof(float), room * kLeaf * sizeof(float));
    {
      LiveSource source(optimizer, snapshot, staging);
      source.before_update(2);
      EXPECT_FALSE(staging.take()) << "all of it is in use";
      source.close();
    }
    std::vector<Staging::Buffer> all;
    while (Staging::Buffer buffer = staging.take()) all.push_back(std::move(buffer));
    EXPECT_EQ(all.size(), room);
  });
}

/// Its n-th copy for a saver fails, as CUDA's do where a peer is lost.
class FailingDevice final : public CpuDevice {
 public:
  explicit FailingDevice(int good) : good_(good) {}
  void copy_out(const at::Tensor& values, std::span<std::byte> to, const Fence* fence) override {
    if (good_-- <= 0) throw CommError("rank 3 is gone", {3});
    CpuDevice::copy_out(values, to, fence);
  }

 private:
  std::atomic<int> good_;
};

/// One rank's leaves on a device that fails after `good` copies.
template <typename Body>
void with_failing_device(int good, const Body& body) {
  with_leaves([&](ShardedAdamW& optimizer, const ckpt::Snapshot& snapshot) {
    FailingDevice failing(good);
    use_device(&failing);
    Staging staging(kLeaf * sizeof(float), 1 << 30);
    LiveSource source(optimizer, snapshot, staging);
    body(source, optimizer);
    use_device(nullptr);
  });
}

std::vector<int> lost_in(LiveSource& source) {
  try {
    source.before_update(2);
  } catch (const CommError& error) {
    return error.lost;
  }
  return {};
}

// A wait for a copy that has failed would never end, and the run's word of the lost rank would never come.
TEST(LiveSource, ACopyThatTheDeviceFailsEndsEveryWait) {
  for (const int good : {0, 3})
    with_failing_device(good, [](LiveSource& source, ShardedAdamW& optimizer) {
      EXPECT_EQ(lost_in(source), std::vector{3}) << "as what was thrown";
      EXPECT_EQ(lost_in(source), std::vector{3}) << "and again";
      std::vector<float> scratch(kLeaf);
      const ckpt::TensorRef last{optimizer.states().back().piece.parameter, ckpt::kExpAvgSq};
      EXPECT_FALSE(source.leaf(last, 0, std::as_writable_bytes(std::span(scratch))).ok());
    });
}

TEST(LiveSource, TheWritersFailedCopyIsToldWhereTensorsAreAboutToChange) {
  with_failing_device(0, [](LiveSource& source, ShardedAdamW& optimizer) {
    std::vector<float> scratch(kLeaf);
    const ckpt::TensorRef first{optimizer.states().front().piece.parameter, ""};
    EXPECT_THAT(source.leaf(first, 0, std::as_writable_bytes(std::span(scratch))).status().message,
                HasSubstr("could not be copied"));
    EXPECT_EQ(lost_in(source), std::vector{3});
  });
}

}  // namespace
}  // namespace titan::train::live_source_test
