#pragma once
// What one rank exchanges with the other ranks of its stages, and in which buffers. Pure, planned once.
#include <cstdint>
#include <vector>

#include "libtrain/reduce/exchange_plan.h"

namespace titan::train {

struct StageExchange {
  /// Compute copies of one width that owners send to everybody.
  struct Sharing {
    std::int64_t width = 4;  ///< bytes of an element: 4 float32, 2 bfloat16
    ExchangePlan plan;
  };
  std::vector<std::uint32_t> parameters;  ///< of each slot that is summed: those of its stages, then a tied head's
  ExchangePlan sums;                      ///< at the end of the step
  std::vector<ExchangePlan> turns;        ///< instead of it, where each micro-batch is exchanged at once: of each stage
  std::vector<Sharing> sharings;
  bool sends_tied = false, receives_tied = false;  ///< the tied head is on another stage than its embedding
  std::int64_t tied_piece = 0;                     ///< elements of a tied weight that travel at once
  std::int64_t buffer_bytes = 0;                   ///< of all buffers together
};

/// Bytes of an element of the compute copy. The embedding is looked up in fp32.
std::int64_t compute_width(const recipe::RunPlan& plan, std::uint32_t parameter);

/// What each data-parallel rank sums of one stage in turns. Slots are the parameters of the stage; a tied head's comes
/// last.
std::vector<SegmentRow> turn_rows(const recipe::RunPlan& plan, const ckpt::Ownership& owners, std::uint32_t stage);

/// For data-parallel rank `dp_rank` of rank `pp_rank` of the pipeline.
StageExchange plan_stage_exchange(const recipe::RunPlan& plan, const ckpt::Ownership& owners, std::uint32_t pp_rank,
                                  std::uint32_t dp_rank);

}  // namespace titan::train
