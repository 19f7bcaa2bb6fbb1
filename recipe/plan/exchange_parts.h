#pragma once
// In which parts the gradients and weights of a rank travel: one part does while the rank computes the next. Pure.
#include <cstdint>
#include <vector>

#include "recipe/plan/run_plan.h"

namespace titan::recipe {

/// Leaves that a rank owns of each part at least, where the parts are not given: ranges of whole leaves are then even
/// to a thirty-second.
inline constexpr std::uint64_t kLeavesOfPart = 32;

/// As many parts as a rank's layers allow and each data-parallel rank can own its fair share of; 1 where there is
/// nothing to exchange.
std::uint32_t most_exchange_parts(const RunPlan& plan);

/// The part of each parameter, counted from 0 on each rank of the pipeline, in model order: whole layers, of about
/// equally many elements, at most plan.exchange_parts. A tied embedding is a part of its own, for it has two sums of
/// gradients. All 0 where plan.exchange_parts is 1.
std::vector<std::uint32_t> exchange_parts(const RunPlan& plan);

/// As many as the rank that has most of them.
std::uint32_t exchange_part_count(const RunPlan& plan);

}  // namespace titan::recipe
