#include "libtrain/reduce/exchange_plan.h"

#include <algorithm>
#include <bit>
#include <numeric>

#include <gtest/gtest.h>

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
        EXPECT_EQ(plan.pieces(own), plans[own.peer].pieces(other));
      }
    }
  }
}

TEST(ExchangePlan, OnlyATreeThatFallsIntoTheRanksBlocksIsAButterfly) {
  for (const std::uint32_t dp : {2u, 3u, 4u, 6u, 8u, 16u}) {
    const std::vector<SegmentRow> rows = llama_rows(llama_plan("1B", dp, dp));
    for (std::uint32_t count = dp; count < 70; ++count) {
      // Bottom up: in each step the two ranks' nodes are the halves of one.
      std::vector<std::vector<Node>> held;
      for (std::uint32_t rank = 0; rank < dp; ++rank) held.push_back(maximal_nodes(count, dp_block(count, dp, rank)));
      bool expected = std::has_single_bit(dp) && std::ranges::all_of(held, [](const auto& n) { return n.size() == 1; });
      for (std::uint32_t bit = 1; expected && bit < dp; bit *= 2) {
        auto next = held;
        for (std::uint32_t rank = 0; expected && rank < dp; ++rank) {
          const Node left = held[rank & ~bit][0], right = held[rank | bit][0];
          const Node above = parent(count, left);
          expected = above.left() == left && above.right() == right;
          next[rank] = {above};
        }
        held = next;
      }
      EXPECT_EQ(!plan_sums(rows, 0, count, kBudget).swaps.empty(), expected) << "DP " << dp << ", M " << count;
    }
  }
}

// The additions, done on names of nodes.
TEST(ExchangePlan, AdditionsOverReceivedRowsAreTheTree) {
  for (const std::uint32_t dp : {3u, 5u, 6u, 8u, 12u}) {
    for (const std::uint32_t count : {12u, 13u, 31u}) {
      const std::vector<SegmentRow> owners(dp);
      const ExchangePlan plan = plan_sums(owners, 0, count, kBudget);
      if (plan.owners.empty()) continue;
      std::vector<Node> rows;
      for (std::uint32_t rank = 0; rank < dp; ++rank) {
        const auto nodes = maximal_nodes(count, dp_block(count, dp, rank));
        EXPECT_EQ(plan.copies[rank], nodes.size());
        rows.insert(rows.end(), nodes.begin(), nodes.end());
      }
      for (const Addition& addition : plan.additions) {
        const Node left = rows[addition.into], right = rows[addition.from];
        const Node above = parent(count, left);
        ASSERT_EQ(above.left(), left);
        ASSERT_EQ(above.right(), right);
        rows[addition.into] = above;
      }
      EXPECT_EQ(rows[0], (Node{0, count}));
    }
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
    const ExchangePlan summing = plan_sums(rows, rank, count, kBudget), sharing = plan_copies(rows, rank, kBudget);
    const Load in = load_of_sums(summing), out = load_of_copies(sharing);
    sums = std::max({sums, in.sent, in.received});
    copies = std::max({copies, out.sent, out.received});
    result.buffer = std::max({result.buffer, summing.buffer_elements(), sharing.buffer_elements()});
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
    EXPECT_GT(balance("8B", dp, 512).sums, 2) << dp;
    EXPECT_LE(balance("8B", dp, 512).buffer, kBudget) << dp;
  }
}

TEST(ExchangePlan, TheSmallestBuffersStillMoveALine) {
  const std::vector<SegmentRow> rows = llama_rows(llama_plan("1B", 3, 3));
  EXPECT_EQ(plan_sums(rows, 0, 3, 1).piece, 16);
  EXPECT_EQ(plan_copies(rows, 0, 1).piece, 16);
}

}  // namespace
}  // namespace titan::train::exchange_plan_test
