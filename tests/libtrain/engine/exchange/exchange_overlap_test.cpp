// Parts of the exchange beside the run: on every layout the bits of one part, whenever the other row of work comes to
// it.
#include <atomic>

#include <gtest/gtest.h>

#include "libtrain/engine/device/cpu/cpu_device.h"
#include "recipe/plan/exchange_parts.h"
#include "tests/libtrain/support/counting_communicator.h"
#include "tests/libtrain/support/late_lane.h"
#include "tests/libtrain/support/tiny_model.h"

namespace titan::test::exchange_overlap_test {
namespace {

using enum recipe::ScheduleKind;
using recipe::ExchangeDomain;

/// Nothing beside the run is done before somebody waits for it.
class LateCpu final : public train::CpuDevice {
 public:
  std::unique_ptr<train::Lane> make_lane() override { return std::make_unique<LateLane>(); }
};

struct Case {
  Layout layout;
  std::uint32_t parts;
  ExchangeDomain exchange = ExchangeDomain::kLate;
  std::int64_t count = 8;
};

const std::vector<Case> kCases{{{2, {}}, 2},
                               {{2, {}}, 100},
                               {{3, {}}, 3, ExchangeDomain::kLate, 7},
                               {{4, {2}}, 3},
                               {{2, {1, 4}}, 2},
                               {{2, {3}, kZbH1}, 2},
                               {{2, {1, 2, 4}, kInterleaved1F1B, 2}, 3},
                               {{2, {1, 2, 4}, kZbvZeroBubble, 2}, 3},
                               {{3, {1, 2, 4}, kDualPipeV, 2}, 2, ExchangeDomain::kLate, 14},
                               {{2, {}}, 3, ExchangeDomain::kAlways},
                               {{3, {2}}, 3, ExchangeDomain::kAlways, 7},
                               {{2, {1, 2, 4}, kInterleavedZeroBubble, 2}, 3, ExchangeDomain::kAlways},
                               {{3, {1, 2, 4}, kZbvZeroBubble, 2}, 100, ExchangeDomain::kAlways, 11},
                               {{2, {3}, kZbH1}, 100, ExchangeDomain::kAlways, 7},
                               {{4, {}}, 2, ExchangeDomain::kNode},
                               {{4, {1, 2, 4}, kInterleaved1F1B, 2}, 100, ExchangeDomain::kNode, 16}};

void expect_the_bits_of_one_part() {
  use_one_thread();
  for (const bool tied : {false, true}) {
    for (const bool bf16 : {false, true}) {
      std::map<std::int64_t, Trace> expected;
      for (const Case& c : kCases) {
        if (!expected.contains(c.count))
          expected[c.count] = train_model(make_plan(tiny_dims(tied), {}, c.count, bf16), 3);
        recipe::RunPlan plan = make_plan(tiny_dims(tied), c.layout, c.count, bf16);
        plan.exchange = c.exchange;
        plan.exchange_parts = c.parts;
        if (c.exchange == ExchangeDomain::kNode) plan.node_ranks = 2;
        const Trace got = train_model(plan, 3);
        const std::string where = std::to_string(c.layout.dp) + " x " + std::to_string(c.layout.cuts.size() + 1) +
                                  " stages, " + std::to_string(c.parts) + " parts, tied " + std::to_string(tied) +
                                  ", bf16 " + std::to_string(bf16);
        EXPECT_TRUE(same_bits(got.losses, expected[c.count].losses)) << where;
        EXPECT_TRUE(same_bits(got.norms, expected[c.count].norms)) << where;
        for (const auto& [name, weight] : expected[c.count].weights)
          EXPECT_TRUE(same_bits(got.weights.at(name), weight)) << name << ", " << where;
      }
    }
  }
}

TEST(ExchangeBeside, GivesTheBitsOfOnePart) { expect_the_bits_of_one_part(); }

TEST(ExchangeBeside, GivesThemHoweverLateTheOtherRowOfWorkIs) {
  LateCpu late;
  train::use_device(&late);
  expect_the_bits_of_one_part();
  train::use_device(nullptr);
}

/// Notes what had been sent when.
class Watched {
 public:
  explicit Watched(train::World& world) {
    auto counting = std::make_unique<CountingCommunicator>(std::move(world.dp));
    counted_ = counting.get();
    world.dp = std::move(counting);
  }
  std::int64_t sent() const { return counted_->sent(); }

 private:
  const CountingCommunicator* counted_;
};

// The last layer's sums have arrived while the first layer's gradients are not there yet.
TEST(ExchangeBeside, SumsTravelWhileTheBackwardGoesOn) {
  use_one_thread();
  recipe::RunPlan plan = make_plan(tiny_dims(), {2, {}}, 2);
  plan.exchange_parts = 5;
  run_ranks(plan.mesh, [&](train::World& world) {
    const Watched watched(world);
    train::RankStages stage(plan, 0, kSeqLen);
    stage.init_weights(7);
    const ckpt::Ownership owners = owners_of(plan);
    std::vector<std::int64_t> sent;
    struct Watching : train::GradientExchange {
      using GradientExchange::GradientExchange;
      std::function<void()> began;
      void begin(std::uint32_t number, std::uint32_t local, std::span<train::TreeSum> sums) override {
        GradientExchange::begin(number, local, sums);
        began();
      }
    };
    Watching exchange(world, plan, owners, stage);
    exchange.began = [&] {
      exchange.GradientExchange::await_weights();  // all that was begun
      sent.push_back(watched.sent());
    };
    ASSERT_GE(exchange.parts(), 3u);
    train::Executor executor(world, plan, stage.stages(), table_of(plan, world));
    executor.work_with(&exchange);
    auto out = executor.run_step(batches_of(plan, 1), 1);
    ASSERT_EQ(sent.size(), stage.stages().front()->segments());
    EXPECT_GT(sent.front(), 0) << "after the last segment's backward";
    EXPECT_LT(sent[sent.size() - 2], sent.back());
    const std::int64_t before = watched.sent();
    (void)exchange.reduce(out.sums);
    EXPECT_EQ(watched.sent(), before) << "nothing was left";
  });
}

// As many bytes as in one part, whatever the number of parts.
TEST(ExchangeBeside, CarriesEachElementOnce) {
  use_one_thread();
  std::map<std::uint32_t, std::int64_t> sent;
  for (const std::uint32_t parts : {1u, 3u}) {
    recipe::RunPlan plan = make_plan(tiny_dims(), {4, {}}, 8, true);
    plan.exchange_parts = parts;
    std::atomic<std::int64_t> all = 0;
    train_model(plan, 1, [&](train::World& world) {
      auto counting = std::make_unique<CountingCommunicator>(std::move(world.dp), &all);
      world.dp = std::move(counting);
    });
    sent[parts] = all;
  }
  EXPECT_EQ(sent[1], sent[3]);
}

/// The ranks of `plan`, whose device is late, begin to share their weights: `body` goes on from there.
template <typename Body>
void while_weights_travel(const recipe::RunPlan& plan, const Body& body) {
  use_one_thread();
  LateCpu late;
  train::use_device(&late);
  run_ranks(plan.mesh, [&](train::World& world) {
    const Watched watched(world);
    train::RankStages stage(plan, 0, kSeqLen);
    stage.init_weights(7);
    const ckpt::Ownership owners = owners_of(plan);
    train::ShardedAdamW optimizer(plan, owners, world, stage, {});
    train::GradientExchange exchange(world, plan, owners, stage);
    exchange.send_weights(optimizer.params());
    body(exchange, watched, stage, static_cast<std::uint32_t>(world.dp_rank));
  });
  train::use_device(nullptr);
}

TEST(ExchangeBeside, WeightsOfTheFirstPartAreHereWhileOthersTravel) {
  recipe::RunPlan plan = make_plan(tiny_dims(), {2, {}}, 2);
  plan.exchange_parts = 5;
  while_weights_travel(plan, [](train::GradientExchange& exchange, const Watched& watched, auto&, std::uint32_t) {
    EXPECT_EQ(watched.sent(), 0);
    exchange.await_weights(0, 0);
    const std::int64_t first = watched.sent();
    EXPECT_GT(first, 0);
    exchange.await_weights(0, 0);
    EXPECT_EQ(watched.sent(), first);
    exchange.await_weights();
    EXPECT_GT(watched.sent(), first);
  });
}

// In turns the gradients of the micro-batch before travel while the loss of the next one is computed.
TEST(ExchangeBeside, TheLossWaitsForWeightsAndNotForGradients) {
  recipe::RunPlan plan = make_plan(tiny_dims(), {2, {}}, 4);
  plan.exchange = ExchangeDomain::kAlways;
  plan.exchange_parts = 5;
  while_weights_travel(plan, [&](train::GradientExchange& exchange, const Watched& watched, train::RankStages& stage,
                                 std::uint32_t dp_rank) {
    const train::Share share = train::share_of(plan, dp_rank);
    std::vector<train::TreeSum> sums(stage.parameters().size(), train::TreeSum(4, share.block));
    for (std::size_t i = 0; i < sums.size(); ++i)
      sums[i].insert(share.at(0), at::ones(stage.parameters()[i]->compute.sizes()));
    exchange.collect(0, 0, sums);
    const std::int64_t before = watched.sent();
    exchange.await_copies();
    EXPECT_EQ(watched.sent(), before) << "weights are here; two parts of the gradients are not";
    exchange.await_weights();
    EXPECT_GT(watched.sent(), before);
  });
}

}  // namespace
}  // namespace titan::test::exchange_overlap_test
