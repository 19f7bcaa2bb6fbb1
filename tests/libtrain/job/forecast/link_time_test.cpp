#include "libtrain/job/forecast/link_time.h"

#include <gtest/gtest.h>

namespace titan::train::link_time_test {
namespace {

/// 1,600 elements for each of `ranks` owners.
std::vector<SegmentRow> owners(std::uint32_t ranks) {
  std::vector<SegmentRow> rows(ranks);
  for (std::uint32_t rank = 0; rank < ranks; ++rank) rows[rank].add(Segment{0, 1600 * rank, 1600});
  return rows;
}

recipe::DeviceFigures slow_links() {
  recipe::DeviceFigures device;
  device.nvlink_gb_s = 4e-6;  // 4,000 bytes a second
  device.nic_gb_s = 1e-6;
  device.per_node = 4;
  device.link_share = 0.5;
  return device;
}

TEST(LinkTime, ButterflySwapsMostWithinTheNode) {
  const ExchangePlan plan = plan_sums(owners(8), 0, 8, 1 << 20);
  ASSERT_EQ(plan.swaps.size(), 3u);
  // Half of 12,800 elements, then a quarter, with neighbours; an eighth with a rank of the other node.
  const LinkBytes bytes = link_bytes(plan, 4, {}, Nodes{4});
  EXPECT_EQ(bytes.in_node, 4u * (6400 + 3200));
  EXPECT_EQ(bytes.between_nodes, 4u * 1600);
  EXPECT_DOUBLE_EQ(link_seconds(plan, 4, {}, slow_links()), 4.0 * 9600 / 2000 + 4.0 * 1600 / 500);
}

TEST(LinkTime, AllToAllUsesBothKindsOfLinksAtOnce) {
  const ExchangePlan plan = plan_turn(owners(6), 1, 1 << 20);
  const LinkBytes bytes = link_bytes(plan, 4, {}, Nodes{4});
  EXPECT_EQ(bytes.in_node, 4u * 3 * 1600);
  EXPECT_EQ(bytes.between_nodes, 4u * 2 * 1600);
  EXPECT_DOUBLE_EQ(link_seconds(plan, 4, {}, slow_links()), 4.0 * 2 * 1600 / 500);
}

TEST(LinkTime, FromStageToStageAtMostWhatFewBlocksCarry) {
  recipe::DeviceFigures device = slow_links();
  EXPECT_DOUBLE_EQ(hop_seconds(6400, true, device), message_seconds(6400, true, device));
  device.nvlink_gb_s = 450;
  EXPECT_DOUBLE_EQ(hop_seconds(80'000'000, true, device), 1e-3);
}

TEST(LinkTime, NodesAreThoseOfGlobalRanks) {
  const ExchangePlan plan = plan_turn(owners(2), 0, 1 << 20);
  EXPECT_EQ(link_bytes(plan, 2, {2}, Nodes{4}).in_node, 2u * 1600);
  EXPECT_EQ(link_bytes(plan, 2, {3}, Nodes{4}).between_nodes, 2u * 1600) << "ranks 3 and 4";
}

TEST(LinkTime, RanksOfTheSamePlaceAreApart) {
  const ExchangePlan plan = plan_turn(owners(2), 0, 1 << 20);
  EXPECT_EQ(link_bytes(plan, 2, {1, 4}, Nodes{4}).between_nodes, 2u * 1600) << "ranks 1 and 5";
}

}  // namespace
}  // namespace titan::train::link_time_test
