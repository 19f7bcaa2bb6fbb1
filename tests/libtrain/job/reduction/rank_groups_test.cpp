#include "libtrain/job/reduction/rank_groups.h"

#include <algorithm>
#include <bit>

#include <gtest/gtest.h>

namespace titan::train::rank_groups_test {
namespace {

TEST(RankGroups, AreAPowerOfTwoAndNoneIsLarge) {
  for (std::uint32_t ranks = 1; ranks < 600; ++ranks) {
    const RankGroups groups = groups_of(ranks, ranks);
    EXPECT_TRUE(std::has_single_bit(groups.groups));
    EXPECT_LE(groups.holders, kLargestGroup) << ranks;
    EXPECT_EQ(groups.first(0), 0u);
    EXPECT_EQ(groups.end(groups.groups - 1), ranks);
    std::vector<std::uint32_t> of_place(groups.holders);
    for (std::uint32_t group = 0; group < groups.groups; ++group) {
      const std::uint32_t size = groups.end(group) - groups.first(group);
      EXPECT_TRUE(size == groups.holders || size == groups.holders + 1) << ranks;
      EXPECT_EQ(groups.extra(group).has_value(), size > groups.holders);
      if (const auto extra = groups.extra(group)) ++of_place[groups.place_for(*extra)];
      for (std::uint32_t rank = groups.first(group); rank < groups.end(group); ++rank) {
        EXPECT_EQ(groups.group_of(rank), group) << rank << " of " << ranks;
        EXPECT_EQ(groups.holds(rank), groups.extra(group) != rank);
      }
    }
    EXPECT_LE(std::ranges::max(of_place) - std::ranges::min(of_place), 1u) << "extra ranks of " << ranks;
  }
}

TEST(RankGroups, KnownGroups) {
  const auto shape = [](std::uint32_t ranks) {
    const RankGroups groups = groups_of(ranks, 2 * ranks);
    return std::pair(groups.groups, groups.holders);
  };
  EXPECT_EQ(shape(3), std::pair(1u, 3u));
  EXPECT_EQ(shape(6), std::pair(2u, 3u));
  EXPECT_EQ(shape(8), std::pair(8u, 1u));
  EXPECT_EQ(shape(96), std::pair(32u, 3u));
  EXPECT_EQ(shape(10'000), std::pair(1024u, 9u));
  EXPECT_EQ(groups_of(6, 5).groups, 1u) << "a rank without a micro-batch";
}

// Which group sums a node that lies in one of theirs.
TEST(RankGroups, EachGroupHasANodeOfTheTree) {
  for (const std::uint32_t ranks : {6u, 17u, 40u, 96u}) {
    for (const std::uint32_t count : {ranks, ranks + 3, 3 * ranks + 1}) {
      const RankGroups groups = groups_of(ranks, count);
      std::uint32_t next = 0;
      for (std::uint32_t group = 0; group < groups.groups; ++group) {
        const Node node = groups.node(count, group);
        EXPECT_EQ(node.lo, next);
        next = node.hi;
        EXPECT_EQ(maximal_nodes(count, node), std::vector<Node>{node});
        for (std::uint32_t one = node.lo; one < node.hi; ++one)
          EXPECT_EQ(groups.group_of(count, {one, one + 1}), group);
      }
      EXPECT_EQ(next, count);
      // Where the ranks are a multiple of the groups, a rank has micro-batches of its own group.
      if (ranks % groups.groups != 0) continue;
      for (std::uint32_t rank = 0; rank < ranks; ++rank)
        EXPECT_TRUE(groups.node(count, groups.group_of(rank)).contains(dp_block(count, ranks, rank)));
    }
  }
}

}  // namespace
}  // namespace titan::train::rank_groups_test
