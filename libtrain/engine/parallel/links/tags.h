#pragma once
// Ranges of tags. A tag tells apart the transfers between two ranks. Tags below kFirstExchangeTag belong to the
// executor: each stage and micro-batch has an even tag for the forward, and an odd tag for the backward.
#include <cstdint>

namespace titan::train {

/// Tags from here on belong to the exchange of gradients and weights. Each range below is far larger than the number of
/// tags that a run can use.
inline constexpr std::uint64_t kFirstExchangeTag = 0x70000000;

/// The sums of a tied head, one tag per node of the canonical tree (tree.h).
inline constexpr std::uint64_t kTiedGradientTags = kFirstExchangeTag;
/// The sums and the weights of the exchange's parts (gradient_exchange.h); each part has kTagsOfPart tags.
inline constexpr std::uint64_t kSumTags = kFirstExchangeTag + 0x100000, kCopyTags = kFirstExchangeTag + 0x200000;
inline constexpr std::uint64_t kTagsOfPart = 0x100;
/// Sums and weights that an additional rank of a group exchanges with a holder (ExchangePlan::handed), and slices of
/// weights in an all-to-all. All parts use the same tags for these, since all ranks exchange them in the same order.
inline constexpr std::uint64_t kHandedTag = kFirstExchangeTag + 0x300000,
                               kWeightSliceTags = kFirstExchangeTag + 0x400000;
/// The messages that copy a tied embedding to its head, one tag each.
inline constexpr std::uint64_t kTiedWeightTags = kFirstExchangeTag + 0x1000000;

}  // namespace titan::train
