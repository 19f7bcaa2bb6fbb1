#include "libtrain/job/forecast/link_time.h"

#include <algorithm>

namespace titan::train {
namespace {

/// Bytes sent and received over one kind of link.
struct TwoWays {
  std::int64_t sent = 0, received = 0;
  std::uint64_t most(std::uint32_t width) const { return static_cast<std::uint64_t>(std::max(sent, received)) * width; }
};

/// Bytes of an all-to-all.
LinkBytes all_to_all(const ExchangePlan& plan, std::uint32_t width, const Peers& peers, const Nodes& nodes) {
  TwoWays in_node, between;
  for (const std::uint32_t rank : plan.partners()) {
    TwoWays& way = nodes.together(peers[rank], peers[plan.me]) ? in_node : between;
    way.sent += plan.owners[rank].length() * plan.gives[rank].count;
    way.received += plan.owners[plan.me].length() * plan.takes[rank];
  }
  return {in_node.most(width), between.most(width)};
}

std::uint64_t swapped(const Swap& swap, std::uint32_t width) {
  return TwoWays{swap.theirs.length(), swap.mine.length()}.most(width);
}

}  // namespace

LinkBytes link_bytes(const ExchangePlan& plan, std::uint32_t width, const Peers& peers, const Nodes& nodes) {
  LinkBytes bytes = all_to_all(plan, width, peers, nodes);
  plan.for_swaps([&](const Swap& swap) {
    (nodes.together(peers[swap.peer], peers[plan.me]) ? bytes.in_node : bytes.between_nodes) += swapped(swap, width);
  });
  return bytes;
}

double message_seconds(std::uint64_t bytes, bool in_node, const recipe::DeviceFigures& device) {
  return static_cast<double>(bytes) / ((in_node ? device.nvlink_gb_s : device.nic_gb_s) * device.link_share * kGiga);
}

double hop_seconds(std::uint64_t bytes, bool in_node, const recipe::DeviceFigures& device) {
  constexpr double kMost = 80;  // GB/s: 20 for each of four blocks; assumed, nothing is measured
  return std::max(message_seconds(bytes, in_node, device), static_cast<double>(bytes) / (kMost * kGiga));
}

double link_seconds(const ExchangePlan& plan, std::uint32_t width, const Peers& peers,
                    const recipe::DeviceFigures& device) {
  const Nodes nodes{device.per_node};
  // All peers of an all-to-all are served at once, those of a butterfly one after the other.
  const LinkBytes at_once = all_to_all(plan, width, peers, nodes);
  double seconds =
      std::max(message_seconds(at_once.in_node, true, device), message_seconds(at_once.between_nodes, false, device));
  plan.for_swaps([&](const Swap& swap) {
    seconds += message_seconds(swapped(swap, width), nodes.together(peers[swap.peer], peers[plan.me]), device);
  });
  return seconds;
}

}  // namespace titan::train
