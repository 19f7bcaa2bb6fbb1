#include "libtrain/engine/exchange/sharded_sums.h"

#include <gtest/gtest.h>

#include "tests/libtrain/support/synthetic_gradient.h"
#include "tests/libtrain/support/tensors.h"
#include "tests/libtrain/support/thread_world.h"

namespace titan::train::sharded_sums_test {
namespace {

using namespace titan::test;

// Two summands of 100 and 40 elements over `dp` ranks; the last rank owns nothing.
std::vector<SegmentRow> two_slots(std::uint32_t dp) {
  std::vector<SegmentRow> rows(dp);
  rows[0].add({0, 0, 64});
  rows[1].add({0, 64, 36});
  rows[1].add({1, 0, 40});
  return rows;
}

TEST(ShardedSums, AreTheTreesOfWhatARankOwns) {
  for (const auto& [count, type] :
       {std::pair{4u, at::kFloat}, {7u, at::kFloat}, {12u, at::kFloat}, {7u, at::kBFloat16}, {12u, at::kBFloat16}}) {
    std::vector<at::Tensor> first, second, wide_first, wide_second;
    for (std::uint32_t m = 0; m < count; ++m) {
      first.push_back(synthetic_gradient("a", m, {100}).to(type));
      second.push_back(synthetic_gradient("b", m, {40}).to(type));
      wide_first.push_back(first.back().to(at::kFloat));
      wide_second.push_back(second.back().to(at::kFloat));
    }
    const at::Tensor a = recursive_sum(wide_first, {0, count}), b = recursive_sum(wide_second, {0, count});
    run_ranks({.pp = 1, .dp = 3}, [&, count = count, type = type](World& world) {
      const auto me = static_cast<std::uint32_t>(world.dp_rank);
      const ExchangePlan plan = plan_turn(two_slots(3), me, 6 * 32);
      EXPECT_EQ(plan.slice, 32) << "three pieces";
      const RowExchange rows(4 * plan.buffer_elements());
      ShardedSums sums(*world.dp, plan, count, {0, count}, type, rows);
      for (int step = 0; step < 2; ++step) {
        const Share share = share_per_micro_batch(count, 3, 3, me);
        // The last turn first: who has nothing in it takes part.
        for (std::uint32_t i = (count + 2) / 3; i-- > 0;)
          sums.add(i,
                   i < share.count ? std::vector{first[share.at(i)], second[share.at(i)]} : std::vector<at::Tensor>());
        const std::vector<at::Tensor> nodes = sums.finish();
        ASSERT_EQ(nodes.size(), 1u);
        const at::Tensor expected[] = {a.narrow(0, 0, 64), at::cat({a.narrow(0, 64, 36), b}), at::empty({0})};
        EXPECT_TRUE(same_bits(floats(nodes[0]), floats(expected[me])));
      }
    });
  }
}

TEST(ShardedSums, RefusesAGradientThatWouldLoseBits) {
  run_ranks({.pp = 1, .dp = 2}, [&](World& world) {
    const ExchangePlan plan = plan_turn(two_slots(2), static_cast<std::uint32_t>(world.dp_rank), 6 * 32);
    const RowExchange rows(2 * plan.buffer_elements());
    ShardedSums sums(*world.dp, plan, 2, {0, 2}, at::kBFloat16, rows);
    EXPECT_THROW(sums.add(0, {at::ones({100}), at::ones({40})}), std::logic_error);
  });
}

TEST(ShardedSums, OfABlockAreItsNodes) {
  constexpr std::uint32_t kCount = 7;
  for (const Node part : {Node{3, 7}, Node{2, 7}}) {  // a half of the tree, and what is no node of it
    std::vector<at::Tensor> first, second;
    for (std::uint32_t m = 0; m < kCount; ++m) {
      first.push_back(synthetic_gradient("a", m, {100}));
      second.push_back(synthetic_gradient("b", m, {40}));
    }
    run_ranks({.pp = 1, .dp = 2}, [&](World& world) {
      const auto me = static_cast<std::uint32_t>(world.dp_rank);
      const ExchangePlan plan = plan_turn(two_slots(2), me, 6 * 32);
      const RowExchange rows(4 * plan.buffer_elements());
      ShardedSums sums(*world.dp, plan, kCount, part, at::kFloat, rows);
      for (std::uint32_t turn = 0; part.lo + 2 * turn < part.hi; ++turn) {
        const std::uint32_t mine = part.lo + 2 * turn + me;
        sums.add(turn, mine < part.hi ? std::vector{first[mine], second[mine]} : std::vector<at::Tensor>());
      }
      const std::vector<at::Tensor> finished = sums.finish();
      const std::vector<Node> nodes = maximal_nodes(kCount, part);
      ASSERT_EQ(finished.size(), nodes.size());
      for (std::size_t i = 0; i < nodes.size(); ++i) {
        const at::Tensor a = recursive_sum(first, nodes[i]), b = recursive_sum(second, nodes[i]);
        const at::Tensor expected = me == 0 ? a.narrow(0, 0, 64) : at::cat({a.narrow(0, 64, 36), b});
        EXPECT_TRUE(same_bits(floats(finished[i]), floats(expected))) << "node " << i;
      }
    });
  }
}

}  // namespace
}  // namespace titan::train::sharded_sums_test
