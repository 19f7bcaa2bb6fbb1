#pragma once
// Point-to-point transfers where there are no tags: what is sent first is what is received first, and an operation that
// was issued holds up all that come after it on the same connection.
//
// So each channel leads one way, from one rank to one other, and carries one kind of transfers: no operation of another
// direction, peer or kind waits behind it. Swaps, which both ranks begin alike, have one channel for both ways. All
// members of a group make its channels in one order, before the first step, and use each once: the first use may hold
// up the host until the other side comes to it.
#include <cstdint>
#include <vector>

namespace titan::train {

/// What a group of tensors is for.
enum class FabricUse {
  kPipeline,  ///< transfers between neighbours of a pipeline, which is a ring, and between its ends
  kExchange,  ///< sums and copies among ranks of one stage: all-to-all, among all or few, and swaps
};

enum class ChannelKind { kForward, kBackward, kTied, kSwap };

/// Which channel takes a transfer with this tag that is no swap.
ChannelKind channel_kind(std::uint64_t tag);

struct Channel {
  int from = 0, to = 0;  ///< of swaps: the lower rank, the higher one
  ChannelKind kind = ChannelKind::kForward;
  auto operator<=>(const Channel&) const = default;
};

/// All channels of a pipeline's group, in the order in which its members make theirs. Channels that share no rank can
/// be made at the same time: the order takes few turns.
std::vector<Channel> pipeline_channels(int size);

/// That of two ranks that swap.
Channel swap_channel(int one, int other);

}  // namespace titan::train
