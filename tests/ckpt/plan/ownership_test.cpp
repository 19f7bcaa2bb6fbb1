#include "ckpt/plan/ownership.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>
#include <random>

namespace titan::ckpt::ownership_test {
namespace {

using Sizes = std::vector<std::uint64_t>;

/// The ranges of a row of leaves: those of a parameter are all of the largest size but the last.
std::vector<LeafRange> partition(const Sizes& sizes, std::uint32_t parts) {
  const std::uint64_t largest = sizes.empty() ? 1 : *std::max_element(sizes.begin(), sizes.end());
  std::vector<ParameterMeta> parameters;
  Sizes first;  // leaf of each parameter
  for (std::size_t i = 0; i < sizes.size(); ++i) {
    if (i == 0 || sizes[i - 1] < largest) {
      parameters.push_back({"", {0}});
      first.push_back(i);
    }
    parameters.back().shape[0] += sizes[i];
  }
  const Ownership ownership(parameters, largest, {1, parts, 1});
  std::vector<LeafRange> ranges;
  for (std::uint32_t part = 0; part < parts; ++part) {
    LeafRange range{ranges.empty() ? 0 : ranges.back().end(), 0};
    for (const OwnedPiece& piece : ownership.of(part)) {
      EXPECT_EQ(first[piece.parameter] + piece.leaves.first, range.end()) << "of part " << part;
      range.count += piece.leaves.count;
    }
    ranges.push_back(range);
  }
  return ranges;
}

std::vector<OwnedPiece> pieces_of(const Ownership& ownership, std::uint32_t rank) {
  const auto pieces = ownership.of(rank);
  return {pieces.begin(), pieces.end()};
}

std::uint64_t sum_of(const Sizes& sizes, LeafRange range) {
  return std::accumulate(sizes.begin() + static_cast<std::ptrdiff_t>(range.first),
                         sizes.begin() + static_cast<std::ptrdiff_t>(range.end()), std::uint64_t{0});
}

/// Least possible largest sum when the sizes from `begin` on go to `parts` ranges.
std::uint64_t least_largest(const Sizes& sizes, std::size_t begin, std::uint32_t parts) {
  std::uint64_t sum = 0;
  for (std::size_t i = begin; i < sizes.size(); ++i) sum += sizes[i];
  if (parts == 1) return sum;
  std::uint64_t best = sum, head = 0;
  for (std::size_t end = begin; end <= sizes.size(); ++end) {
    best = std::min(best, std::max(head, least_largest(sizes, end, parts - 1)));
    if (end < sizes.size()) head += sizes[end];
  }
  return best;
}

TEST(Ownership, CoversOnceContiguouslyWithTheLeastLargestSum) {
  const std::uint32_t seed = 11;
  SCOPED_TRACE(::testing::Message() << "seed " << seed);
  std::mt19937 random(seed);
  for (int round = 0; round < 400; ++round) {
    Sizes sizes(random() % 9);
    for (std::uint64_t& size : sizes) size = 1 + random() % 8;
    const std::uint32_t parts = 1 + random() % 5;
    std::vector<LeafRange> ranges = partition(sizes, parts);
    ASSERT_EQ(ranges.size(), parts);
    std::uint64_t next = 0, most = 0;
    for (const LeafRange& range : ranges) {
      ASSERT_EQ(range.first, next);
      next = range.end();
      most = std::max(most, sum_of(sizes, range));
    }
    ASSERT_EQ(next, sizes.size());
    ASSERT_EQ(most, least_largest(sizes, 0, parts)) << ::testing::PrintToString(sizes) << " in " << parts;
  }
}

TEST(Ownership, FillsFromTheLeftAndLeavesTheLastRanksEmpty) {
  EXPECT_EQ(partition({1, 1, 1, 1}, 3), (std::vector<LeafRange>{{0, 2}, {2, 2}, {4, 0}}));
  EXPECT_EQ(partition({}, 2), (std::vector<LeafRange>{{0, 0}, {0, 0}}));
  EXPECT_EQ(partition({5}, 3), (std::vector<LeafRange>{{0, 1}, {1, 0}, {1, 0}}));
}

TEST(Ownership, EveryLeafOfAStageHasExactlyOneOwnerInOrder) {
  const std::uint32_t seed = 13;
  SCOPED_TRACE(::testing::Message() << "seed " << seed);
  std::mt19937 random(seed);
  for (int round = 0; round < 200; ++round) {
    const std::uint32_t stages = 1 + random() % 3, dp = 1 + random() % 6;
    const std::uint64_t leaf = 1 + random() % 7;
    std::vector<ParameterMeta> parameters;
    for (std::uint32_t i = 0, count = random() % 7; i < count; ++i)
      parameters.push_back(
          {"p" + std::to_string(i), {random() % 5, 1 + random() % 9}, static_cast<std::uint32_t>(random() % stages)});
    const Ownership ownership(parameters, leaf, {stages, dp, 1});
    for (std::uint32_t stage = 0; stage < stages; ++stage) {
      std::vector<std::pair<std::uint32_t, std::uint64_t>> expected, found;
      for (std::uint32_t i = 0; i < parameters.size(); ++i) {
        for (std::uint64_t l = 0; parameters[i].stage == stage && l < parameters[i].grid(leaf).count(); ++l)
          expected.emplace_back(i, l);
      }
      for (std::uint32_t rank = 0; rank < dp; ++rank) {
        for (const OwnedPiece& piece : ownership.of(stage * dp + rank)) {
          ASSERT_GT(piece.leaves.count, 0u);
          for (std::uint64_t l = piece.leaves.first; l < piece.leaves.end(); ++l)
            found.emplace_back(piece.parameter, l);
        }
      }
      ASSERT_EQ(found, expected) << "round " << round << " stage " << stage;
    }
  }
}

TEST(Ownership, OfEachGroupOfParametersEachRankGetsItsPart) {
  // 12 leaves and 20 others, on two stages.
  const std::vector<ParameterMeta> parameters{{"a", {8, 4}}, {"apart", {12, 4}}, {"b", {12, 4}}, {"c", {6, 4}, 1}};
  const std::vector<std::uint32_t> groups{0, 1, 0, 0};
  const Ownership ownership(parameters, 4, {2, 4, 1}, groups);
  EXPECT_EQ(pieces_of(ownership, 0), (std::vector<OwnedPiece>{{0, {0, 5}}, {1, {0, 3}}}));
  EXPECT_EQ(pieces_of(ownership, 1), (std::vector<OwnedPiece>{{0, {5, 3}}, {1, {3, 3}}, {2, {0, 2}}}));
  EXPECT_EQ(pieces_of(ownership, 3), (std::vector<OwnedPiece>{{1, {9, 3}}, {2, {7, 5}}}));
  EXPECT_EQ(pieces_of(ownership, 4), (std::vector<OwnedPiece>{{3, {0, 2}}})) << "of the other stage";
}

TEST(Ownership, MoreRanksThanLeavesLeavesSomeWithNothing) {
  std::vector<ParameterMeta> parameters{{"a", {3}}, {"b", {4}}};
  const Ownership ownership(parameters, 4, {2, 3, 1});
  EXPECT_EQ(pieces_of(ownership, 0), (std::vector<OwnedPiece>{{0, {0, 1}}}));
  EXPECT_EQ(pieces_of(ownership, 1), (std::vector<OwnedPiece>{{1, {0, 1}}}));
  EXPECT_TRUE(ownership.of(2).empty());
  EXPECT_TRUE(ownership.of(3).empty()) << "a stage without parameters";
  EXPECT_TRUE(ownership.of(6).empty()) << "beyond the mesh";
}

/// Leaf by leaf, as the layout was defined first.
std::vector<LeafRange> leaf_by_leaf(const Sizes& sizes, std::uint32_t parts) {
  const auto deal = [&](std::uint64_t bound) {
    std::vector<LeafRange> ranges(1);
    std::uint64_t sum = 0;
    for (const std::uint64_t size : sizes) {
      if (size > bound - sum) {
        ranges.push_back({ranges.back().end(), 0});
        sum = 0;
      }
      sum += size;
      ++ranges.back().count;
    }
    return ranges;
  };
  std::uint64_t bound = sizes.empty() ? 0 : *std::max_element(sizes.begin(), sizes.end());
  while (deal(bound).size() > parts) ++bound;
  std::vector<LeafRange> ranges = deal(bound);
  while (ranges.size() < parts) ranges.push_back({ranges.back().end(), 0});
  return ranges;
}

TEST(Ownership, RunsOfEqualLeavesAreCutWhereSingleLeavesWere) {
  const std::uint32_t seed = 17;
  SCOPED_TRACE(::testing::Message() << "seed " << seed);
  std::mt19937 random(seed);
  for (int round = 0; round < 300; ++round) {
    Sizes sizes;
    const std::uint64_t leaf = 1 + random() % 20;
    for (std::uint32_t tensors = random() % 6; tensors > 0; --tensors) {
      sizes.insert(sizes.end(), random() % 40, leaf);
      if (random() % 2) sizes.push_back(1 + random() % leaf);
    }
    const std::uint32_t parts = 1 + random() % 30;
    ASSERT_EQ(partition(sizes, parts), leaf_by_leaf(sizes, parts))
        << ::testing::PrintToString(sizes) << " in " << parts;
  }
}

// Walking single leaves would take years here, and their list more memory than there is.
TEST(Ownership, AModelOf2To50LeavesIsPartitionedByArithmetic) {
  const std::uint64_t leaf = 1024, leaves = std::uint64_t{1} << 50;
  const std::vector<ParameterMeta> parameters{{"a", {leaves / 2 * leaf}}, {"b", {leaves / 2, leaf}}};
  const std::uint64_t before = partition_work();
  const Ownership ownership(parameters, leaf, {1, 1000, 1});
  std::uint64_t next = 0;
  for (std::uint32_t rank = 0; rank < 1000; ++rank) {
    for (const OwnedPiece& piece : ownership.of(rank)) {
      ASSERT_EQ(piece.parameter * leaves / 2 + piece.leaves.first, next);
      next += piece.leaves.count;
    }
  }
  EXPECT_EQ(next, leaves);
  EXPECT_LT(partition_work() - before, 100 * 2 * (1000 + 2)) << "ranges and runs, times the steps of a bisection";
}

}  // namespace
}  // namespace titan::ckpt::ownership_test
