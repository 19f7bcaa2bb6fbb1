#pragma once
// Ranges of the tags by which two ranks of a fabric know their transfers. A tag below kFirstExchangeTag is the
// executor's: stages times micro-batches, forward even, backward odd.
#include <cstdint>

namespace titan::train {

/// From here on tags are those of the exchange of gradients and weights: far more than a stage has swaps, a tied table
/// pieces, a block nodes.
inline constexpr std::uint64_t kFirstExchangeTag = 0x70000000;

/// Nodes of a tied head's sums, one tag each.
inline constexpr std::uint64_t kTiedGradientTags = kFirstExchangeTag;
/// Sums and weights of parts; each part has kTagsOfPart.
inline constexpr std::uint64_t kSumTags = kFirstExchangeTag + 0x100000, kCopyTags = kFirstExchangeTag + 0x200000;
inline constexpr std::uint64_t kTagsOfPart = 0x100;
/// What is handed over, and slices of weights: the ranks of a group come to these in one order.
inline constexpr std::uint64_t kHandedTag = kFirstExchangeTag + 0x300000,
                               kWeightSliceTags = kFirstExchangeTag + 0x400000;
/// Pieces of a tied table, one tag each.
inline constexpr std::uint64_t kTiedWeightTags = kFirstExchangeTag + 0x1000000;

}  // namespace titan::train
