#pragma once
// What one rank exchanges with the other ranks of its stages, and in which buffers. Pure, planned once.
#include <cstdint>
#include <vector>

#include "libtrain/job/order/exchange_plan.h"
#include "libtrain/job/order/exchange_ways.h"

namespace titan::train {

struct StageExchange {
  /// Compute copies of one width that owners send to everybody.
  struct Sharing {
    std::int64_t width = 4;  ///< bytes of an element: 4 float32, 2 bfloat16
    ExchangePlan plan;
  };
  /// Parameters whose sums and weights travel together.
  struct Part {
    std::vector<std::uint32_t> slots;  ///< that are summed
    ExchangePlan sums;                 ///< at the end of the step, by slot; none in turns
    std::vector<Sharing> sharings;
  };
  /// Gradients of one width of a part of each micro-batch of a stage, exchanged at once among the ranks of a domain.
  struct Turns {
    std::uint32_t chunk = 0;           ///< the stage's place among those of the rank
    std::int64_t width = 4;            ///< bytes of an element of its gradients, and so of what travels
    std::vector<std::uint32_t> slots;  ///< of the stage's parameters; a tied head's comes last
    ExchangePlan plan;
    SegmentRow own;          ///< what this rank owns of the part
    std::int64_t begin = 0;  ///< of it, in the row that this rank sums
  };
  std::vector<std::uint32_t> parameters;  ///< of each slot that is summed: those of its stages, then a tied head's
  std::vector<Part> parts;                ///< in model order
  std::vector<std::uint32_t> part_of;     ///< of each slot
  std::vector<Turns> turns;      ///< of each stage and part, where each micro-batch is exchanged at once; else none
  ExchangePlan between_domains;  ///< behind turns, at the end of the step: each row that was summed in turns is a slot
  bool sends_tied = false, receives_tied = false;  ///< the tied head is on another stage than its embedding
  std::int64_t tied_piece = 0;                     ///< elements of a tied weight that travel at once
  std::int64_t buffer_bytes = 0;                   ///< of all buffers together
};

/// Bytes of an element of the compute copy. The embedding is looked up in fp32.
std::int64_t compute_width(const recipe::RunPlan& plan, std::uint32_t parameter);

/// Bytes of an element of the gradient of one micro-batch. The embedding's is fp32, and so is a head's that was added
/// up over chunks of the logits.
std::int64_t gradient_width(const recipe::RunPlan& plan, std::uint32_t parameter);

/// What each data-parallel rank owns of one stage's sums in turns. Slots are the parameters of the stage; a tied head's
/// comes last.
std::vector<SegmentRow> turn_rows(const recipe::RunPlan& plan, const ckpt::Ownership& owners, std::uint32_t stage);

/// For data-parallel rank `dp_rank` of rank `pp_rank` of the pipeline.
StageExchange plan_stage_exchange(const recipe::RunPlan& plan, const ckpt::Ownership& owners, std::uint32_t pp_rank,
                                  std::uint32_t dp_rank);

/// What one rank sends in a step of which it has `micro_batches`: sums of gradients, and weights.
Traffic traffic_of(const StageExchange& exchange, std::uint32_t micro_batches);

/// The most rounds and messages of a rank of the first stage in a step. Groups repeat: some ranks show what all send.
Traffic busiest_traffic(const recipe::RunPlan& plan);

/// What the groups of a stage's ranks do in its exchange. `nodes`: there are groups of nodes (has_node_groups).
struct GroupWays {
  ExchangeWays stage, node, between_nodes;
};
GroupWays group_ways(const StageExchange& exchange, bool nodes);

}  // namespace titan::train
