#pragma once
// Ranges of the tags that match the transfers of two ranks. Tags below kFirstExchangeTag belong to the executor: one
// per stage and micro-batch, even for forward and odd for backward.
#include <cstdint>

namespace titan::train {

/// Tags from here on belong to the exchange of gradients and weights. Each range is far larger than the possible number
/// of swaps of a stage, pieces of a tied table, or nodes of a block.
inline constexpr std::uint64_t kFirstExchangeTag = 0x70000000;

/// The sums of a tied head, one tag per tree node.
inline constexpr std::uint64_t kTiedGradientTags = kFirstExchangeTag;
/// The sums and the weights of parts; each part has kTagsOfPart tags.
inline constexpr std::uint64_t kSumTags = kFirstExchangeTag + 0x100000, kCopyTags = kFirstExchangeTag + 0x200000;
inline constexpr std::uint64_t kTagsOfPart = 0x100;
/// Elements that are handed over, and slices of weights. One tag each suffices, since all ranks of a group do these in
/// the same order.
inline constexpr std::uint64_t kHandedTag = kFirstExchangeTag + 0x300000,
                               kWeightSliceTags = kFirstExchangeTag + 0x400000;
/// The pieces of a tied table, one tag each.
inline constexpr std::uint64_t kTiedWeightTags = kFirstExchangeTag + 0x1000000;

}  // namespace titan::train
