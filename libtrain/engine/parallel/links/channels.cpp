#include "libtrain/engine/parallel/links/channels.h"

#include <algorithm>

#include "libtrain/engine/parallel/links/tags.h"

namespace titan::train {
namespace {

void add_both_ways(std::vector<Channel>& channels, int one, int other, ChannelKind kind) {
  channels.push_back({one, other, kind});
  channels.push_back({other, one, kind});
}

}  // namespace

ChannelKind channel_kind(std::uint64_t tag) {
  if (tag >= kFirstExchangeTag) return ChannelKind::kTied;
  return tag % 2 == 0 ? ChannelKind::kForward : ChannelKind::kBackward;
}

std::vector<Channel> pipeline_channels(int size) {
  if (size < 2) return {};
  std::vector<Channel> channels;
  const auto neighbours = [&](int one) {
    add_both_ways(channels, one, (one + 1) % size, ChannelKind::kForward);
    add_both_ways(channels, one, (one + 1) % size, ChannelKind::kBackward);
  };
  // First the pairs (0, 1), (2, 3), ..., then (1, 2), (3, 4), ...: so no rank waits for a chain of other ranks.
  for (int one = 0; one + 1 < size; one += 2) neighbours(one);
  for (int one = 1; one + 1 < size; one += 2) neighbours(one);
  if (size > 2) neighbours(size - 1);
  add_both_ways(channels, 0, size - 1, ChannelKind::kTied);
  return channels;
}

Channel swap_channel(int one, int other) { return {std::min(one, other), std::max(one, other), ChannelKind::kSwap}; }

}  // namespace titan::train
