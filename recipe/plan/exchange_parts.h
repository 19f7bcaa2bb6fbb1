#pragma once
// Divides the gradients and weights of a rank into parts for the exchange between data-parallel ranks, so that one part
// is sent while the rank computes the next one. Pure.
#include <cstdint>
#include <vector>

namespace titan::recipe {

struct RunPlan;

/// Unless the configuration sets the number of parts, a data-parallel rank should own at least this many leaves of each
/// part. Ranks own whole leaves, so their shares then differ by about 1/32 at most.
inline constexpr std::uint64_t kLeavesOfPart = 32;

/// The largest number of parts for which each pipeline rank has enough layers, and each data-parallel rank can own
/// kLeavesOfPart leaves of a part of mean size. At least 1; 1 if there is nothing to exchange.
std::uint32_t most_exchange_parts(const RunPlan& plan);

/// The part of each parameter, in model order, counted from 0 on each pipeline rank. A part consists of whole layers;
/// parts have about the same number of elements. There are at most plan.exchange_parts parts, plus one for a tied
/// embedding, which has two gradient sums. With plan.exchange_parts = 1, every parameter is in part 0.
std::vector<std::uint32_t> exchange_parts(const RunPlan& plan);

/// The number of parts on the rank that has the most.
std::uint32_t exchange_part_count(const RunPlan& plan);

}  // namespace titan::recipe
