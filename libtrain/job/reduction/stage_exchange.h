#pragma once
// What one rank exchanges with the other data-parallel ranks of its stages, and the size of its buffers. Pure, planned
// once.
#include <cstdint>
#include <vector>

#include "libtrain/job/reduction/exchange_peers.h"
#include "libtrain/job/reduction/exchange_plan.h"

namespace titan::train {

struct StageExchange {
  /// The weights in one compute dtype that owners send to all ranks.
  struct Copies {
    std::int64_t width = 4;  ///< bytes of an element: 4 float32, 2 bfloat16
    ExchangePlan plan;
  };
  /// Parameters whose sums and weights are sent together.
  struct Part {
    std::vector<std::uint32_t> summands;  ///< indices into StageExchange::parameters
    ExchangePlan sums;           ///< at the end of the step, by summand; empty if gradients are exchanged in turns
    std::vector<Copies> copies;  ///< one per width
  };
  /// The exchange "in turns" of one part of a stage: after each micro-batch, the ranks of a domain exchange the
  /// gradients of this part. All elements have one width: a part with gradients of two widths has two such exchanges.
  struct Turns {
    std::uint32_t chunk = 0;  ///< the stage's place among those of the rank
    std::int64_t width = 4;   ///< bytes of a gradient element, in memory and in transit
    std::vector<std::uint32_t>
        summands;  ///< the summands in the part; numbers are those of the stage, as in turn_rows()
    ExchangePlan plan;
    SegmentRow own;          ///< the elements of the part that this rank owns
    std::int64_t begin = 0;  ///< place of `own` in the row that this rank sums
  };
  /// The parameter of each summand that is summed: those of the rank's stages. On the rank with the first stage, the
  /// embedding comes once more, last, for a tied head.
  std::vector<std::uint32_t> parameters;
  std::vector<Part> parts;             ///< in model order
  std::vector<std::uint32_t> part_of;  ///< the part of each summand
  std::vector<Turns> turns;            ///< of each stage and part if gradients are exchanged in turns; else empty
  ExchangePlan between_domains;        ///< after turns, at the end of the step; each row summed in turns is a summand
  /// If a tied head is on another rank than its embedding: whether this rank has the head (and sends its sums), and
  /// whether it has the embedding (and receives them).
  bool sends_tied = false, receives_tied = false;
  std::int64_t tied_message = 0;  ///< elements of a tied weight per message
  std::int64_t buffer_bytes = 0;  ///< of the buffers: what the largest exchange needs, since all exchanges share them
};

/// Bytes of an element of the compute copy. The embedding is looked up in fp32.
std::int64_t compute_width(const recipe::RunPlan& plan, std::uint32_t parameter);

/// Bytes of an element of the gradient of one micro-batch. The embedding's gradient is fp32, and so is that of a head
/// whose gradient is summed over chunks of the logits.
std::int64_t gradient_width(const recipe::RunPlan& plan, std::uint32_t parameter);

/// For sums in turns: the elements of stage `stage` whose final sums each data-parallel rank computes. Summands are the
/// parameters of the stage. A tied head's summand comes last; it is divided among the ranks of the last stage as the
/// embedding is divided among those of the first.
std::vector<SegmentRow> turn_rows(const recipe::RunPlan& plan, const ckpt::Ownership& owners, std::uint32_t stage);

/// Plans the exchange of data-parallel rank `dp_rank` of pipeline rank `pp_rank`.
StageExchange plan_stage_exchange(const recipe::RunPlan& plan, const ckpt::Ownership& owners, std::uint32_t pp_rank,
                                  std::uint32_t dp_rank);

/// What one rank with `micro_batches` micro-batches sends in a step: gradients and weights.
Traffic traffic_of(const StageExchange& exchange, std::uint32_t micro_batches);

/// The most rounds, and the most messages, of any rank of pipeline rank 0 in a step. Only the first 20 data-parallel
/// ranks are counted, since groups of ranks are alike.
Traffic busiest_traffic(const recipe::RunPlan& plan);

/// The transfers of a rank among all ranks of its stage (`stage`), among the ranks of its domain (`node`), and among
/// the ranks at its place in the other domains (`between_nodes`). group_peers() takes `nodes`: whether the groups
/// `node` and `between_nodes` exist (has_node_groups()).
struct GroupPeers {
  ExchangePeers stage, node, between_nodes;
};
GroupPeers group_peers(const StageExchange& exchange, bool nodes);

}  // namespace titan::train
