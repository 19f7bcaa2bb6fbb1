#include "recipe/text/merge_queue.h"

#include <gtest/gtest.h>

#include <set>
#include <tuple>

namespace titan::recipe::merge_queue_test {
namespace {

TEST(MergeQueue, GivesTheLowestRankAndOfEqualOnesTheLeftmost) {
  MergeQueue queue;
  queue.clear();
  for (const MergeQueue::Candidate& candidate :
       {MergeQueue::Candidate{2, 5, 20}, {1, 9, 10}, {1, 3, 10}, {2, 6, 20}, {1, 4, 10}})
    queue.push(candidate);
  std::vector<std::uint32_t> order;
  while (!queue.empty()) order.push_back(queue.pop().at);
  EXPECT_EQ(order, (std::vector<std::uint32_t>{3, 4, 9, 5, 6}));
}

TEST(MergeQueue, IsAnOrderedSetWhateverComesBetween) {
  MergeQueue queue;
  std::uint64_t state = 1;
  const auto draw = [&](std::uint32_t below) {
    state = state * 6364136223846793005u + 1442695040888963407u;
    return static_cast<std::uint32_t>((state >> 33) % below);
  };
  for (int round = 0; round < 300; ++round) {
    queue.clear();
    std::multiset<std::tuple<std::uint32_t, std::uint32_t>> expected;
    std::uint32_t at = 0;
    for (int i = 0; i < 200; ++i) {
      if (!expected.empty() && draw(3) == 0) {
        const MergeQueue::Candidate next = queue.pop();
        ASSERT_EQ(std::tuple(next.rank, next.at), *expected.begin());
        ASSERT_EQ(next.made, next.rank + 1000);
        expected.erase(expected.begin());
      } else {
        const std::uint32_t rank = draw(6);
        at = draw(4) == 0 ? draw(1000) : at + 1;  // mostly from left to right
        queue.push({rank, at, rank + 1000});
        expected.emplace(rank, at);
      }
    }
    while (!queue.empty()) {
      const MergeQueue::Candidate next = queue.pop();
      ASSERT_EQ(std::tuple(next.rank, next.at), *expected.begin());
      expected.erase(expected.begin());
    }
    ASSERT_TRUE(expected.empty());
  }
}

}  // namespace
}  // namespace titan::recipe::merge_queue_test
