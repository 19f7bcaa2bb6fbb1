#pragma once
// Channels: connections for point-to-point transfers over a library without tags (NCCL). On one connection the first
// tensor sent is the first received, and an operation blocks all later ones until it is done.
//
// So a channel goes in one direction between two ranks and carries one kind of transfer: transfers in the other
// direction, with other ranks or of other kinds do not wait for it. A swap uses one channel for both directions, since
// both ranks start it in the same way. All members of a group create its channels in the same order before the first
// step. The members also use each channel once at that time, since the first use may block the host until the peer uses
// the channel, too.
#include <cstdint>
#include <vector>

namespace titan::train {

/// What a group of ranks transfers.
enum class FabricUse {
  kPipeline,  ///< activations and gradients between consecutive ranks of a pipeline, the last and the first included
  kExchange,  ///< gradients and weights among the ranks of one stage: all-to-all (among all ranks or a few) and swaps
};

/// What a channel carries: activations; their gradients; gradients and weights of a tied head; swaps (Fabric::swap).
enum class ChannelKind { kForward, kBackward, kTied, kSwap };

/// The kind of channel for a pipeline's transfer with this tag (tags.h).
ChannelKind channel_kind(std::uint64_t tag);

struct Channel {
  int from = 0, to = 0;  ///< for swaps: the lower rank, the higher rank
  ChannelKind kind = ChannelKind::kForward;
  auto operator<=>(const Channel&) const = default;
};

/// All channels of a pipeline of `size` ranks, in the order of creation. The order lets pairs of ranks connect at the
/// same time where they have no rank in common.
std::vector<Channel> pipeline_channels(int size);

/// The channel for swaps of two ranks.
Channel swap_channel(int one, int other);

}  // namespace titan::train
