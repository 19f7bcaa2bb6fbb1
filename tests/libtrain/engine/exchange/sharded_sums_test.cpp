#include "libtrain/engine/exchange/sharded_sums.h"

#include <gtest/gtest.h>

#include "tests/libtrain/support/synthetic_gradient.h"
#include "tests/libtrain/support/tensors.h"
#include "tests/libtrain/support/thread_world.h"

namespace titan::train::sharded_sums_test {
namespace {

using namespace titan::test;

// Two slots of 100 and 40 elements over `dp` ranks; the last rank owns nothing.
std::vector<SegmentRow> two_slots(std::uint32_t dp) {
  std::vector<SegmentRow> rows(dp);
  rows[0].add({0, 0, 64});
  rows[1].add({0, 64, 36});
  rows[1].add({1, 0, 40});
  return rows;
}

TEST(ShardedSums, AreTheTreesOfWhatARankOwns) {
  for (const std::uint32_t count : {4u, 7u, 12u}) {
    std::vector<at::Tensor> first, second;
    for (std::uint32_t m = 0; m < count; ++m) {
      first.push_back(synthetic_gradient("a", m, {100}));
      second.push_back(synthetic_gradient("b", m, {40}));
    }
    const at::Tensor a = recursive_sum(first, {0, count}), b = recursive_sum(second, {0, count});
    run_ranks({.pp = 1, .dp = 3}, [&](World& world) {
      const auto me = static_cast<std::uint32_t>(world.dp_rank);
      const ExchangePlan plan = plan_turn(two_slots(3), me, 6 * 32);
      EXPECT_EQ(plan.slice, 32) << "three pieces";
      const at::Tensor bytes = at::empty({4 * plan.buffer_elements()}, at::kByte);
      ShardedSums sums(*world.dp, plan, count, {0, count}, bytes);
      for (int step = 0; step < 2; ++step) {
        const Share share = share_in_turns(count, 3, 3, me);
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
      const at::Tensor bytes = at::empty({4 * plan.buffer_elements()}, at::kByte);
      ShardedSums sums(*world.dp, plan, kCount, part, bytes);
      for (std::uint32_t turn = 0; part.lo + 2 * turn < part.hi; ++turn) {
        const std::uint32_t mine = part.lo + 2 * turn + me;
        sums.add(turn, mine < part.hi ? std::vector{first[mine], second[mine]} : std::vector<at::Tensor>());
      }
      const std::vector<at::Tensor> rows = sums.finish();
      const std::vector<Node> nodes = maximal_nodes(kCount, part);
      ASSERT_EQ(rows.size(), nodes.size());
      for (std::size_t i = 0; i < nodes.size(); ++i) {
        const at::Tensor a = recursive_sum(first, nodes[i]), b = recursive_sum(second, nodes[i]);
        const at::Tensor expected = me == 0 ? a.narrow(0, 0, 64) : at::cat({a.narrow(0, 64, 36), b});
        EXPECT_TRUE(same_bits(floats(rows[i]), floats(expected))) << "node " << i;
      }
    });
  }
}

}  // namespace
}  // namespace titan::train::sharded_sums_test
