#include "libtrain/job/reduction/exchange_plan.h"

#include <algorithm>
#include <bit>
#include <map>
#include <numeric>
#include <set>

#include <gtest/gtest.h>

#include "tests/libtrain/support/exchange_load.h"
#include "tests/libtrain/support/llama_shapes.h"

namespace titan::train::exchange_plan_test {
namespace {

using namespace titan::test;

constexpr std::int64_t kBudget = (256 << 20) / 4;

std::int64_t total(const std::vector<SegmentRow>& rows) {
  return std::accumulate(rows.begin(), rows.end(), std::int64_t{0},
                         [](std::int64_t sum, const SegmentRow& row) { return sum + row.length(); });
}

TEST(ExchangePlan, ButterflySwapsWithTheNearestFirstAndHalvesWhatTravels) {
  const std::vector<SegmentRow> rows = llama_rows(llama_plan("8B", 8, 16));
  const ExchangePlan plan = plan_sums(rows, 5, 16, kBudget);
  ASSERT_EQ(plan.swaps.size(), 3u);
  EXPECT_TRUE(plan.owners.empty());
  EXPECT_EQ(plan.swaps[0].peer, 4u);
  EXPECT_EQ(plan.swaps[1].peer, 7u);
  EXPECT_EQ(plan.swaps[2].peer, 1u);
  EXPECT_EQ(plan.swaps[2].mine.segments(), rows[5].segments());
  EXPECT_EQ(plan.swaps[2].theirs.segments(), rows[1].segments());
  EXPECT_EQ(plan.swaps[0].theirs.length(), total({rows[0], rows[2], rows[4], rows[6]}));
}

TEST(ExchangePlan, PeersAgreeOnWhatTheySwap) {
  for (const std::uint32_t dp : {2u, 8u, 16u}) {
    const std::vector<SegmentRow> rows = llama_rows(llama_plan("1B", dp, dp));
    std::vector<ExchangePlan> plans;
    for (std::uint32_t rank = 0; rank < dp; ++rank) plans.push_back(plan_sums(rows, rank, dp, kBudget));
    for (const ExchangePlan& plan : plans) {
      for (std::size_t step = 0; step < plan.swaps.size(); ++step) {
        const Swap &own = plan.swaps[step], &other = plans[own.peer].swaps[step];
        EXPECT_EQ(other.peer, plan.me);
        EXPECT_EQ(own.mine.segments(), other.theirs.segments());
        EXPECT_EQ(own.theirs.segments(), other.mine.segments());
        EXPECT_EQ(plan.messages(own), plans[own.peer].messages(other));
      }
    }
  }
}

TEST(ExchangePlan, ThePowersOfTwoAreAButterflyAlone) {
  for (const std::uint32_t dp : {2u, 4u, 8u, 16u, 64u}) {
    const std::vector<SegmentRow> rows(dp);
    for (std::uint32_t count = dp; count < 300; ++count) {
      const ExchangePlan plan = plan_sums(rows, dp - 1, count, kBudget);
      EXPECT_TRUE(plan.owners.empty() && plan.handed.empty()) << "DP " << dp << ", M " << count;
      EXPECT_EQ(plan.swaps.size(), static_cast<std::size_t>(std::bit_width(dp) - 1));
    }
  }
}

/// One line of elements for each of `dp` owners.
std::vector<SegmentRow> lines(std::uint32_t dp) {
  std::vector<SegmentRow> rows(dp);
  for (std::uint32_t rank = 0; rank < dp; ++rank) rows[rank].add(Segment{0, 16 * rank, 16});
  return rows;
}

/// Of each line that a row has, its owner.
std::vector<std::uint32_t> owners_in(const SegmentRow& row) {
  std::vector<std::uint32_t> owners;
  for (const Segment& segment : row.segments()) owners.push_back(static_cast<std::uint32_t>(segment.begin / 16));
  return owners;
}

std::vector<ExchangePlan> plans_of(std::uint32_t dp, std::uint32_t count) {
  std::vector<ExchangePlan> plans;
  for (std::uint32_t rank = 0; rank < dp; ++rank) plans.push_back(plan_sums(lines(dp), rank, count, kBudget));
  return plans;
}

// The exchange of all ranks, done on names of nodes: of each rank, by owner, the node whose sum it has.
TEST(ExchangePlan, WhatIsAddedIsTheTreeOnAnyNumberOfRanks) {
  for (const std::uint32_t dp : {3u, 5u, 6u, 7u, 8u, 10u, 12u, 16u, 17u, 19u, 24u, 32u, 33u, 37u, 50u, 96u, 100u}) {
    for (const std::uint32_t count : {dp, dp + 1, 2 * dp, 2 * dp + 5, 3 * dp - 1, 5 * dp + 3}) {
      SCOPED_TRACE("DP " + std::to_string(dp) + ", M " + std::to_string(count));
      const std::vector<ExchangePlan> plans = plans_of(dp, count);
      std::vector<std::map<std::uint32_t, Node>> sums(dp);
      for (std::uint32_t rank = 0; rank < dp; ++rank) {
        const ExchangePlan& plan = plans[rank];
        if (plan.owners.empty()) {  // a butterfly alone: each rank has one node
          const auto nodes = maximal_nodes(count, dp_block(count, dp, rank));
          ASSERT_EQ(nodes.size(), 1u);
          for (std::uint32_t owner = 0; owner < dp; ++owner) sums[rank][owner] = nodes[0];
          continue;
        }
        std::vector<Node> rows;
        for (std::uint32_t from = 0; from < dp; ++from) {
          const auto nodes = maximal_nodes(count, dp_block(count, dp, from));
          const NodeRange& given = plans[from].gives[rank];
          if (plan.owners[rank].length() == 0) continue;
          ASSERT_EQ(given.count, plan.takes[from]);
          if (given.count > 0) {
            ASSERT_EQ(plans[from].owners[rank].segments(), plan.owners[rank].segments());
          }
          for (std::uint32_t node = 0; node < given.count; ++node) rows.push_back(nodes.at(given.first + node));
        }
        for (const Addition& addition : plan.additions) {
          const Node above = parent(count, rows[addition.into]);
          ASSERT_EQ(above.left(), rows[addition.into]);
          ASSERT_EQ(above.right(), rows[addition.from]);
          rows[addition.into] = above;
        }
        for (const std::uint32_t owner : owners_in(plan.owners[rank])) sums[rank][owner] = rows.at(0);
      }
      for (std::size_t step = 0; step < plans[0].swaps.size(); ++step) {
        const auto before = sums;
        for (std::uint32_t rank = 0; rank < dp; ++rank) {
          if (plans[rank].swaps.empty()) continue;
          const Swap& swap = plans[rank].swaps[step];
          ASSERT_EQ(plans[swap.peer].swaps[step].peer, rank);
          ASSERT_EQ(plans[swap.peer].swaps[step].theirs.segments(), swap.mine.segments());
          for (const std::uint32_t owner : owners_in(swap.mine)) {
            const Node left = before[std::min(rank, swap.peer)].at(owner),
                       right = before[std::max(rank, swap.peer)].at(owner);
            sums[rank][owner] = parent(count, left);
            ASSERT_EQ(sums[rank][owner].left(), left);
            ASSERT_EQ(sums[rank][owner].right(), right);
          }
        }
      }
      for (std::uint32_t rank = 0; rank < dp; ++rank)
        for (const Swap& handed : plans[rank].handed)
          for (const std::uint32_t owner : owners_in(handed.theirs)) {
            ASSERT_EQ(owners_in(plans[handed.peer].handed.at(0).mine), std::vector<std::uint32_t>{owner});
            sums[handed.peer][owner] = sums[rank].at(owner);
          }
      for (std::uint32_t rank = 0; rank < dp; ++rank) EXPECT_EQ(sums[rank].at(rank), (Node{0, count})) << rank;
    }
  }
}

// Backwards: every rank has the weights of every owner.
TEST(ExchangePlan, WeightsComeToAllRanks) {
  for (const std::uint32_t dp : {3u, 6u, 17u, 19u, 37u, 96u, 100u}) {
    std::vector<ExchangePlan> plans;
    for (std::uint32_t rank = 0; rank < dp; ++rank) plans.push_back(plan_copies(lines(dp), rank, kBudget));
    std::vector<std::set<std::uint32_t>> has(dp);
    for (std::uint32_t rank = 0; rank < dp; ++rank) has[rank].insert(rank);
    const auto take = [&](std::uint32_t to, std::uint32_t from, const SegmentRow& row) {
      for (const std::uint32_t owner : owners_in(row)) {
        ASSERT_TRUE(has[from].contains(owner)) << "DP " << dp << ", from " << from;
        has[to].insert(owner);
      }
    };
    for (std::uint32_t rank = 0; rank < dp; ++rank)
      for (const Swap& handed : plans[rank].handed) take(rank, handed.peer, handed.theirs);
    for (std::size_t step = plans[0].swaps.size(); step-- > 0;) {
      for (std::uint32_t rank = 0; rank < dp; ++rank)
        if (!plans[rank].swaps.empty()) take(rank, plans[rank].swaps[step].peer, plans[rank].swaps[step].theirs);
    }
    for (std::uint32_t rank = 0; rank < dp; ++rank) {
      for (std::uint32_t from = 0; from < dp; ++from) {
        EXPECT_EQ(plans[rank].gives[from].count, plans[from].takes[rank]);
        if (plans[rank].gives[from].count > 0) take(rank, from, plans[rank].owners[from]);
      }
    }
    for (std::uint32_t rank = 0; rank < dp; ++rank) EXPECT_EQ(has[rank].size(), dp) << "DP " << dp << ", rank " << rank;
  }
}

TEST(ExchangePlan, AllRanksCutTheSameSlices) {
  const std::vector<SegmentRow> rows = llama_rows(llama_plan("1B", 100, 300));
  const ExchangePlan first = plan_sums(rows, 0, 300, kBudget), copies = plan_copies(rows, 0, kBudget);
  for (std::uint32_t rank = 1; rank < 100; ++rank) {
    const ExchangePlan plan = plan_sums(rows, rank, 300, kBudget), copying = plan_copies(rows, rank, kBudget);
    EXPECT_EQ(plan.slice, first.slice);
    EXPECT_EQ(plan.slices(), first.slices());
    EXPECT_EQ(copying.slice, copies.slice);
    EXPECT_EQ(copying.slices(), copies.slices());
    EXPECT_LE(plan.buffer_elements(), kBudget);
    EXPECT_LE(copying.buffer_elements(), kBudget);
  }
}

/// The loads of all ranks against an equal share: of the link that carries most, in and out apart.
struct Balance {
  double sums = 0, copies = 0;
  std::int64_t buffer = 0;
};

Balance balance(const std::string& model, std::uint32_t dp, std::uint32_t count, bool tied = false) {
  const recipe::RunPlan plan = llama_plan(model, dp, count, tied);
  const std::vector<SegmentRow> rows = llama_rows(plan);
  std::int64_t sums = 0, copies = 0;
  Balance result;
  for (std::uint32_t rank = 0; rank < dp; ++rank) {
    const ExchangePlan summing = plan_sums(rows, rank, count, kBudget), copying = plan_copies(rows, rank, kBudget);
    const Load in = load_of_sums(summing), out = load_of_copies(copying);
    sums = std::max({sums, in.sent, in.received});
    copies = std::max({copies, out.sent, out.received});
    result.buffer = std::max({result.buffer, summing.buffer_elements(), copying.buffer_elements()});
  }
  const double equal = static_cast<double>(total(rows)) * (dp - 1) / dp;
  result.sums = static_cast<double>(sums) / equal;
  result.copies = static_cast<double>(copies) / equal;
  return result;
}

TEST(ExchangePlan, NoLinkCarriesMuchMoreThanItsShareAndBuffersKeepTheirSize) {
  for (const char* model : {"1B", "8B", "70B"}) {
    for (const std::uint32_t dp : {8u, 64u, 1024u}) {
      const Balance found = balance(model, dp, 2 * dp);
      EXPECT_LE(found.sums, 1.05) << model << ", DP " << dp;
      EXPECT_LE(found.copies, 1.05) << model << ", DP " << dp;
      EXPECT_LE(found.buffer, kBudget) << model << ", DP " << dp;
    }
  }
}

// Each rank has its part of the embedding, and so of the head's second tree.
TEST(ExchangePlan, ATiedHeadIsBalancedToo) {
  for (const std::uint32_t dp : {2u, 8u, 64u, 1024u}) {
    const Balance found = balance("1B", dp, 2 * dp, true);
    EXPECT_LE(found.sums, 1.05) << dp;
    EXPECT_LE(found.copies, 1.05) << dp;
  }
}

TEST(ExchangePlan, ADomainIsAsLargeAsANodeAllows) {
  recipe::RunPlan plan = llama_plan("1B", 8, 16);
  EXPECT_EQ(domain_size(plan), 1u);
  plan.exchange = recipe::ExchangeDomain::kAlways;
  EXPECT_EQ(domain_size(plan), 8u);
  EXPECT_FALSE(has_node_groups(plan));
  plan.exchange = recipe::ExchangeDomain::kNode;
  EXPECT_EQ(domain_size(plan), 8u) << "all ranks on one node";
  for (const auto& [ranks, domain] : {std::pair{4u, 4u}, {6u, 2u}, {16u, 8u}, {3u, 1u}}) {
    plan.node_ranks = ranks;
    EXPECT_EQ(domain_size(plan), domain) << ranks;
    EXPECT_EQ(has_node_groups(plan), domain == 4 || domain == 2) << ranks;
  }
  plan.shard_gradients = true;
  plan.node_ranks = 4;
  EXPECT_EQ(domain_size(plan), 4u) << "what a node can divide, it does";
}

TEST(ExchangePlan, RanksOfADomainSumWhatTheirPlacesOwn) {
  const std::vector<SegmentRow> owners = llama_rows(llama_plan("1B", 6, 6));
  const std::vector<SegmentRow> rows = domain_rows(owners, 3);
  ASSERT_EQ(rows.size(), 3u);
  for (std::uint32_t place = 0; place < 3; ++place) {
    SegmentRow expected = owners[place];
    expected.add(owners[place + 3]);
    EXPECT_EQ(rows[place].segments(), expected.segments());
  }
}

TEST(ExchangePlan, OtherNumbersOfRanksAreBalancedToo) {
  for (const std::uint32_t dp : {6u, 12u, 48u}) {
    const Balance found = balance("8B", dp, dp);
    EXPECT_LE(found.copies, 1.05) << dp;
    EXPECT_LE(found.buffer, kBudget) << dp;
    // Each rank sends one micro-batch: one node.
    EXPECT_LE(found.sums, 1.05) << dp;
    // Several nodes are sent where a block is several.
    EXPECT_GT(balance("8B", dp, 510).sums, 2) << dp;
    EXPECT_LE(balance("8B", dp, 510).buffer, kBudget) << dp;
  }
}

// A rank of some groups holds nothing: it sends all that it has, and the others a little more than their share.
TEST(ExchangePlan, GroupsOfDifferentSizesSendLittleMore) {
  for (const std::uint32_t dp : {100u, 1000u}) {
    const Balance found = balance("8B", dp, dp);
    EXPECT_LE(found.sums, 1.3) << dp;
    EXPECT_LE(found.copies, 1.3) << dp;
    EXPECT_LE(found.buffer, kBudget) << dp;
  }
}

TEST(ExchangePlan, TheSmallestBuffersStillMoveALine) {
  const std::vector<SegmentRow> rows = llama_rows(llama_plan("1B", 3, 3));
  EXPECT_EQ(plan_sums(rows, 0, 3, 1).slice, 16);
  EXPECT_EQ(plan_copies(rows, 0, 1).slice, 16);
  EXPECT_EQ(plan_copies(llama_rows(llama_plan("1B", 4, 4)), 0, 1).message, 16);
}

}  // namespace
}  // namespace titan::train::exchange_plan_test
