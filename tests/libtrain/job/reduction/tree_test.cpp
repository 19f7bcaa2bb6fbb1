#include "libtrain/job/reduction/tree.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <map>
#include <numeric>
#include <random>

#include <gtest/gtest.h>

namespace titan::train::tree_test {
namespace {

const std::uint32_t kCounts[] = {1, 2, 3, 5, 7, 8, 12, 16, 24, 31, 64};

std::vector<float> random_values(std::uint32_t count, std::uint32_t seed) {
  std::mt19937 random(seed);
  std::normal_distribution<float> normal;
  std::vector<float> values(count);
  for (float& x : values) x = normal(random) * std::exp2(static_cast<float>(random() % 12));
  return values;
}

float recursive_sum(const std::vector<float>& x, Node node) {
  if (node.hi - node.lo == 1) return x[node.lo];
  return recursive_sum(x, node.left()) + recursive_sum(x, node.right());
}

// Merges values as they arrive, within a block, as a rank does.
std::map<Node, float> merge_block(const std::vector<float>& x, Node block, const std::vector<std::uint32_t>& order) {
  const auto count = static_cast<std::uint32_t>(x.size());
  std::map<Node, float> held;
  for (const std::uint32_t i : order) {
    Node node{i, i + 1};
    float sum = x[i];
    for (Node above = parent(count, node); above != node && block.contains(above); above = parent(count, node)) {
      const auto left = held.find(above.left()), right = held.find(above.right());
      if (node == above.left() ? right == held.end() : left == held.end()) break;
      sum = node == above.left() ? sum + right->second : left->second + sum;
      held.erase(node == above.left() ? right : left);
      node = above;
    }
    held[node] = sum;
  }
  return held;
}

float combine(const std::map<Node, float>& sent, Node node) {
  const auto found = sent.find(node);
  return found != sent.end() ? found->second : combine(sent, node.left()) + combine(sent, node.right());
}

bool same_bits(float a, float b) { return std::memcmp(&a, &b, sizeof a) == 0; }

TEST(Share, EveryMicroBatchIsOneRanks) {
  for (const std::uint32_t count : {1u, 5u, 8u, 13u}) {
    for (std::uint32_t d = 1; d <= count; ++d) {
      std::vector<int> late(count), turns(count);
      for (std::uint32_t r = 0; r < d; ++r) {
        const Share a = share_per_micro_batch(count, d, 1, r), b = share_per_micro_batch(count, d, d, r);
        EXPECT_EQ(a.block, dp_block(count, d, r));
        EXPECT_EQ(b.block, (Node{0, count}));
        for (std::uint32_t i = 0; i < a.count; ++i) ++late.at(a.at(i));
        for (std::uint32_t i = 0; i < b.count; ++i) {
          ++turns.at(b.at(i));
          EXPECT_EQ(b.at(i) / d, i) << "in turn i the ranks work side by side";
        }
      }
      EXPECT_EQ(late, std::vector<int>(count, 1));
      EXPECT_EQ(turns, std::vector<int>(count, 1));
    }
  }
}

TEST(Share, RanksOfADomainWorkSideBySideInTheirBlock) {
  for (const std::uint32_t count : {6u, 7u, 12u, 31u}) {
    for (const auto& [d, together] : {std::pair{6u, 2u}, {6u, 3u}, {4u, 2u}}) {
      std::vector<int> seen(count);
      for (std::uint32_t r = 0; r < d; ++r) {
        const Share share = share_per_micro_batch(count, d, together, r);
        EXPECT_EQ(share.block, dp_block(count, d / together, r / together));
        EXPECT_GE(share.count, 1u);
        for (std::uint32_t i = 0; i < share.count; ++i) {
          ++seen.at(share.at(i));
          EXPECT_EQ((share.at(i) - share.block.lo) / together, i);
          EXPECT_EQ((share.at(i) - share.block.lo) % together, r % together);
        }
      }
      EXPECT_EQ(seen, std::vector<int>(count, 1)) << "M " << count << ", " << d << " ranks, " << together;
    }
  }
}

TEST(Tree, GivesTheSameBitsForEveryRankCountAndArrivalOrder) {
  for (const std::uint32_t count : kCounts) {
    for (std::uint32_t d = 1; d <= count; ++d) {
      for (const char* arrival : {"in order", "reversed", "shuffled"}) {
        const std::uint32_t seed = count * 100 + d;
        const std::vector<float> x = random_values(count, seed);
        std::map<Node, float> sent;
        for (std::uint32_t r = 0; r < d; ++r) {
          const Node block = dp_block(count, d, r);
          std::vector<std::uint32_t> order(block.hi - block.lo);
          std::iota(order.begin(), order.end(), block.lo);
          if (*arrival == 'r') std::reverse(order.begin(), order.end());
          if (*arrival == 's') std::shuffle(order.begin(), order.end(), std::mt19937(seed));
          const std::map<Node, float> held = merge_block(x, block, order);
          std::vector<Node> nodes;
          for (const auto& [node, sum] : held) nodes.push_back(node);
          ASSERT_EQ(nodes, maximal_nodes(count, block)) << "M " << count << ", rank " << r << " of " << d;
          sent.insert(held.begin(), held.end());
        }
        EXPECT_TRUE(same_bits(combine(sent, {0, count}), recursive_sum(x, {0, count})))
            << "M " << count << ", d " << d << ", " << arrival << ", seed " << seed;
      }
    }
  }
}

TEST(Tree, DiffersFromALeftFoldForManyValues) {
  int different = 0;
  for (std::uint32_t seed = 0; seed < 200; ++seed) {
    const std::vector<float> x = random_values(8, seed);
    if (!same_bits(recursive_sum(x, {0, 8}), std::accumulate(x.begin(), x.end(), 0.0f))) ++different;
  }
  EXPECT_GT(different, 50) << "of 200";
}

TEST(Tree, BlocksCoverAllMicroBatchesInOrder) {
  for (const std::uint32_t count : kCounts) {
    for (std::uint32_t d = 1; d <= count; ++d) {
      std::uint32_t next = 0;
      for (std::uint32_t r = 0; r < d; ++r) {
        const Node block = dp_block(count, d, r);
        EXPECT_EQ(block.lo, next);
        EXPECT_GE(block.hi - block.lo, count / d) << "M " << count << ", rank " << r << " of " << d;
        EXPECT_LE(block.hi - block.lo, (count + d - 1) / d) << "M " << count << ", rank " << r << " of " << d;
        next = block.hi;
      }
      EXPECT_EQ(next, count);
    }
  }
}

TEST(Tree, ARankOfAPowerOfTwoHoldsOneNode) {
  for (std::uint32_t count = 32; count <= 512; ++count)
    for (const std::uint32_t d : {2u, 4u, 8u, 32u})
      for (std::uint32_t r = 0; r < d; ++r)
        EXPECT_EQ(maximal_nodes(count, dp_block(count, d, r)).size(), 1u)
            << "M " << count << ", rank " << r << " of " << d;
}

TEST(Tree, KnownNodesOfSevenMicroBatchesOnThreeRanks) {
  EXPECT_EQ(maximal_nodes(7, dp_block(7, 3, 0)), (std::vector<Node>{{0, 1}, {1, 2}}));
  EXPECT_EQ(maximal_nodes(7, dp_block(7, 3, 1)), (std::vector<Node>{{2, 3}, {3, 4}}));
  EXPECT_EQ(maximal_nodes(7, dp_block(7, 3, 2)), (std::vector<Node>{{4, 5}, {5, 7}}));
  EXPECT_EQ(maximal_nodes(7, {0, 7}), (std::vector<Node>{{0, 7}}));
  EXPECT_TRUE(maximal_nodes(7, {3, 3}).empty());
}

TEST(Tree, ParentIsTheNodeOfWhichANodeIsHalf) {
  EXPECT_EQ(parent(7, {5, 6}), (Node{5, 7}));
  EXPECT_EQ(parent(7, {1, 2}), (Node{1, 3}));
  EXPECT_EQ(parent(7, {0, 1}), (Node{0, 3}));
  EXPECT_EQ(parent(7, {3, 7}), (Node{0, 7}));
  EXPECT_EQ(parent(7, {0, 7}), (Node{0, 7}));
  EXPECT_EQ(parent(1, {0, 1}), (Node{0, 1}));
}

}  // namespace
}  // namespace titan::train::tree_test
