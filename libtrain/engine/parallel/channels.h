#pragma once
// Point-to-point transfers over connections without tags: the first tensor sent is the first received, and an issued
// operation holds up all later ones on the same connection.
//
// So each channel leads one way, from one rank to one other, and carries one kind of transfer: operations of another
// direction, peer or kind do not wait for it. Swaps, which both ranks begin in the same way, have one channel for both
// directions. All members of a group make the group's channels in the same order, before the first step, and use each
// channel once then, for the first use may block the host until the other side uses it too.
#include <cstdint>
#include <vector>

namespace titan::train {

/// What a group of ranks transfers.
enum class FabricUse {
  kPipeline,  ///< activations and gradients between neighbours of a pipeline (a ring), and between the first and last
              ///< stage
  kExchange,  ///< sums and copies among ranks of one stage: all-to-all (among all ranks or a few) and swaps
};

enum class ChannelKind { kForward, kBackward, kTied, kSwap };

/// The kind of channel for a transfer with this tag. Not for swaps.
ChannelKind channel_kind(std::uint64_t tag);

struct Channel {
  int from = 0, to = 0;  ///< for swaps: the lower rank, the higher rank
  ChannelKind kind = ChannelKind::kForward;
  auto operator<=>(const Channel&) const = default;
};

/// All channels of a pipeline's group, in the order in which the members make them. The order lets channels that share
/// no rank be made at the same time.
std::vector<Channel> pipeline_channels(int size);

/// The channel of two ranks that swap.
Channel swap_channel(int one, int other);

}  // namespace titan::train
