#pragma once
// How the ranks of a stage sum their gradients and share their weights: who sends what to whom, and in which buffers.
// Pure, planned once; no tensors.
//
// A butterfly where the number of ranks is a power of two: in step s a rank swaps with rank XOR 2^s, so that half, then
// a quarter, then an eighth of the elements travels, the most of it between neighbours. Where the canonical tree falls
// into the ranks' blocks, each step adds the two halves of a node: the sums are those of the tree. Weights go the same
// way backwards.
// Else a balanced all-to-all: slice k of every owner's row at once, with as many copies as a rank has nodes.
//
// Whatever is cut is cut at 64-byte lines and not at leaves: a thousand ranks times a leaf would exceed any buffer, and
// an addition does not depend on where a range begins.
#include <cstdint>
#include <vector>

#include "libtrain/reduce/segment_row.h"
#include "libtrain/reduce/tree.h"

namespace titan::train {

/// One step of the butterfly. Sums: `theirs` is sent, `mine` is received and added. Weights: the other way round.
struct Swap {
  std::uint32_t peer = 0;
  SegmentRow mine, theirs;
};

/// Row `into` += row `from`; the left operand is the row of the lower micro-batches.
struct Addition {
  std::uint32_t into = 0, from = 0;
  bool operator==(const Addition&) const = default;
};

struct ExchangePlan {
  std::uint32_t me = 0;
  std::vector<Swap> swaps;            ///< of a butterfly, in the order of sums
  std::vector<SegmentRow> owners;     ///< of an all-to-all, per rank
  std::vector<std::uint32_t> copies;  ///< that each rank sends of an element in an all-to-all: its nodes, or 1
  std::vector<Addition> additions;    ///< over the received rows (by rank, then node); row 0 ends as the sum
  std::int64_t piece = 0;             ///< elements that travel at once: of a swap's rows, or of an owner's row

  /// Messages, one after the other: of a swap, or of the all-to-all.
  std::int64_t pieces(const Swap& swap) const;
  std::int64_t pieces() const;
  /// Elements that the buffers hold at once.
  std::int64_t buffer_elements() const;
};

/// Pieces of a swap that are under way at once, in each direction.
inline constexpr std::int64_t kSwapsUnderWay = 2;

/// Sums over `count` micro-batches, with buffers of at most `elements`.
ExchangePlan plan_sums(const std::vector<SegmentRow>& owners, std::uint32_t me, std::uint32_t count,
                       std::int64_t elements);
/// Every owner's elements to all ranks, with buffers of at most `elements`.
ExchangePlan plan_copies(const std::vector<SegmentRow>& owners, std::uint32_t me, std::int64_t elements);

/// Gradients of one micro-batch of each rank to their owners, with buffers of at most `elements`.
ExchangePlan plan_turn(const std::vector<SegmentRow>& owners, std::uint32_t me, std::int64_t elements);

/// What each rank of a domain sums in turns, as one row per rank: rows of the owners that have its place in any domain,
/// one domain after the other.
std::vector<SegmentRow> domain_rows(const std::vector<SegmentRow>& owners, std::uint32_t domain);

/// Neighbouring data-parallel ranks of a domain: they exchange the gradients of each micro-batch at once, and domains
/// theirs at the end of the step. All ranks are one domain, or those of a node, or each rank is its own.
std::uint32_t domain_size(const recipe::RunPlan& plan);
/// Whether the gradients of each micro-batch are exchanged at once. One rank has nothing to send.
bool exchanges_in_turns(const recipe::RunPlan& plan);
/// Whether there is more than one domain of more than one rank: World::node and World::between_nodes carry the sums.
bool has_node_groups(const recipe::RunPlan& plan);
/// The micro-batches of DP rank `dp_rank`.
Share share_of(const recipe::RunPlan& plan, std::uint32_t dp_rank);
/// Micro-batches in the schedule of DP rank `dp_rank`. All ranks of a domain run the schedule of its largest share, so
/// that they come to the exchanges in one order; who lacks a micro-batch passes over its actions.
std::uint32_t scheduled_count(const recipe::RunPlan& plan, std::uint32_t dp_rank);

/// Elements that leave and reach the rank of a plan in one exchange.
struct Load {
  std::int64_t sent = 0, received = 0;
};
Load load_of_sums(const ExchangePlan& plan);
Load load_of_copies(const ExchangePlan& plan);

/// Messages that the rank of a plan sends in one exchange, and the rounds that they come in, one behind the other.
struct Traffic {
  std::int64_t rounds = 0, messages = 0;
};
Traffic traffic_of(const ExchangePlan& plan);

}  // namespace titan::train
