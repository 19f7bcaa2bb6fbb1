#pragma once
// Point-to-point transfers over connections without tags: the first tensor sent is the first received, and an issued
// operation blocks all later ones on the same connection.
//
// So each channel goes in one direction between two ranks and carries one kind of transfer: operations in the other
// direction, with other peers or of other kinds do not wait for it. Swaps, which both ranks start in the same way, use
// one channel for both directions. All members of a group create its channels in the same order, before the first step,
// and use each once at that time, since the first use may block the host until the other side uses it too.
#include <cstdint>
#include <vector>

namespace titan::train {

/// What a group of ranks transfers.
enum class FabricUse {
  kPipeline,  ///< activations and gradients between neighbours of a pipeline (a ring), and between the first and last
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

/// All channels of a pipeline's group, in the order of creation. In this order, channels that share no rank can be
/// created at the same time.
std::vector<Channel> pipeline_channels(int size);

/// The channel of two ranks that swap.
Channel swap_channel(int one, int other);

}  // namespace titan::train
