// Every schedule and the exchange over fabrics that promise no more than NCCL does.
#include <gtest/gtest.h>

#include "tests/libtrain/support/fifo_fabric.h"
#include "tests/libtrain/support/late_fabric.h"
#include "tests/libtrain/support/tiny_model.h"

namespace titan::test::device_fabric_test {
namespace {

using enum recipe::ScheduleKind;

struct Row {
  Layout layout;
  recipe::ExchangeDomain exchange = recipe::ExchangeDomain::kLate;
  std::uint32_t parts = 1;  ///< in which it goes on beside the run
};

const std::vector<Row>& rows() {
  static const std::vector<Row> all{{{1, {3}, kGPipe}},
                                    {{1, {3}, k1F1B}},
                                    {{1, {1, 4}, k1F1B}},
                                    {{1, {3}, kZbH1}},
                                    {{1, {1, 2, 4}, kInterleaved1F1B, 2}},
                                    {{1, {1, 2, 4}, kLoopedBfs, 2}},
                                    {{1, {1, 2, 4}, kInterleavedZeroBubble, 2}},
                                    {{1, {1, 2, 4}, kZbvZeroBubble, 2}},
                                    {{1, {1, 2, 4}, kDualPipeV, 2}},
                                    {{2, {}}},
                                    {{3, {}}},
                                    {{4, {}}},
                                    {{6, {}}},
                                    {{2, {3}}},
                                    {{2, {}}, recipe::ExchangeDomain::kAlways},
                                    {{2, {3}}, recipe::ExchangeDomain::kAlways},
                                    {{2, {}}, recipe::ExchangeDomain::kLate, 3},
                                    {{3, {}}, recipe::ExchangeDomain::kLate, 5},
                                    {{6, {}}, recipe::ExchangeDomain::kLate, 3},
                                    {{4, {3}}, recipe::ExchangeDomain::kLate, 2},
                                    {{2, {1, 2, 4}, kDualPipeV, 2}, recipe::ExchangeDomain::kLate, 2},
                                    {{2, {3}}, recipe::ExchangeDomain::kAlways, 2}};
  return all;
}

template <typename Wrap>
void expect_bits(const Wrap& wrap) {
  use_one_thread();
  const Trace expected = train_model(make_plan(tiny_dims(true), {}, 8), 2);
  for (const Row& row : rows()) {
    recipe::RunPlan plan = make_plan(tiny_dims(true), row.layout, 8);
    plan.exchange = row.exchange;
    plan.exchange_parts = row.parts;
    const Trace got = train_model(plan, 2, [&](train::World& world) {
      world.pp = wrap(std::move(world.pp), train::FabricUse::kPipeline);
      world.dp = wrap(std::move(world.dp), train::FabricUse::kExchange);
    });
    const std::string where = std::to_string(row.layout.dp) + " x " + std::to_string(row.layout.cuts.size() + 1) +
                              " stages, " + recipe::facts_of(row.layout.schedule).name + ", " +
                              std::to_string(row.parts) + " parts";
    EXPECT_TRUE(same_bits(got.losses, expected.losses)) << where;
    EXPECT_TRUE(same_bits(got.norms, expected.norms)) << where;
    for (const auto& [name, weight] : expected.weights)
      EXPECT_TRUE(same_bits(got.weights.at(name), weight)) << name << ", " << where;
  }
}

TEST(DeviceFabric, BuffersMayBeGarbageUntilTheyAreWaitedFor) {
  expect_bits([](std::unique_ptr<train::Fabric> inner, train::FabricUse) {
    return std::make_unique<LateFabric>(std::move(inner));
  });
}

TEST(DeviceFabric, TheOrderOfIssueIsEnough) {
  expect_bits([](std::unique_ptr<train::Fabric> inner, train::FabricUse use) {
    return std::make_unique<FifoFabric>(std::move(inner), use);
  });
}

TEST(DeviceFabric, TheDoublesNoticeMistakes) {
  run_ranks({1, 2, 1}, [](train::World& world) {
    LateFabric fabric(std::move(world.dp));
    at::Tensor tensor = at::zeros({4});
    const int peer = 1 - world.rank;
    if (world.rank == 0) {
      const auto send = fabric.send(tensor, peer, 1);
      world.all->barrier();
      tensor.fill_(1);
      EXPECT_THROW(send->wait(), std::logic_error);
    } else {
      const auto receive = fabric.recv(tensor, peer, 1);
      EXPECT_TRUE(tensor.isnan().all().item<bool>());
      receive->wait();
      EXPECT_EQ(tensor.sum().item<float>(), 0);
      world.all->barrier();
    }
  });
}

}  // namespace
}  // namespace titan::test::device_fabric_test
