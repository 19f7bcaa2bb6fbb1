#pragma once
// How the ranks of a stage sum their gradients and share their weights: who sends what to whom, and in which buffers.
// Pure, planned once; no tensors.
//
// Ranks are in groups (rank_groups.h). In a group slice k of every holder's row travels at once, with as many copies as
// a rank has nodes of the group's: a balanced all-to-all, whose sums are the group's node. Holders with one place in
// their groups then swap in a butterfly: in step s with the group whose number is theirs XOR 2^s, so that half, then a
// quarter, then an eighth of their elements travels, the most of it between neighbours. Each step adds the two halves
// of a node: the sums are those of the tree. At last a rank that holds nothing gets what it owns. Weights go the same
// way backwards. Where the ranks are a power of two each is a group, and there is the butterfly alone.
//
// Whatever is cut is cut at 64-byte lines and not at leaves: a thousand ranks times a leaf would exceed any buffer, and
// an addition does not depend on where a range begins.
#include <cstdint>
#include <vector>

#include "libtrain/job/order/segment_row.h"
#include "libtrain/job/order/tree.h"

namespace titan::train {

/// One step of the butterfly. Sums: `theirs` is sent, `mine` is received and added. Weights: the other way round. What
/// is handed over is received and replaces what was there.
struct Swap {
  std::uint32_t peer = 0;
  SegmentRow mine, theirs;
};

/// Row `into` += row `from`; the left operand is the row of the lower micro-batches.
struct Addition {
  std::uint32_t into = 0, from = 0;
  bool operator==(const Addition&) const = default;
};

/// Nodes of a rank, by their place among them.
struct NodeRange {
  std::uint32_t first = 0, count = 0;
};

struct ExchangePlan {
  std::uint32_t me = 0;
  std::vector<SegmentRow> owners;    ///< of an all-to-all, per rank: none of those that nothing is sent to
  std::vector<NodeRange> gives;      ///< per rank: of this rank's nodes, those that are sent to it
  std::vector<std::uint32_t> takes;  ///< per rank: copies of each element of this rank's row that it sends
  std::vector<Addition> additions;   ///< over the received rows (by rank, then node); row 0 ends as the sum
  std::vector<Swap> swaps;           ///< of a butterfly, in the order of sums, behind the all-to-all
  std::vector<Swap> handed;          ///< behind the butterfly: between a holder and a rank that holds nothing
  std::int64_t piece = 0;            ///< elements of a swap's rows that travel at once
  bool all = false;                  ///< the all-to-all is among all ranks, not those of a group and its neighbours
  std::int64_t slice = 0;            ///< elements of each owner's row that travel at once

  /// Calls `use` with each swap of the butterfly, and then with what is handed over.
  template <typename Use>
  void for_swaps(const Use& use) const {
    for (const std::vector<Swap>* steps : {&swaps, &handed})
      for (const Swap& swap : *steps) use(swap);
  }
  /// The ranks to or from which something goes in the all-to-all, in order.
  std::vector<std::uint32_t> partners() const;
  /// Messages of a swap, one after the other.
  std::int64_t pieces(const Swap& swap) const;
  /// The same of the all-to-all.
  std::int64_t slices() const;
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

/// Messages that the rank of a plan sends in one exchange, and the rounds that they come in, one behind the other.
struct Traffic {
  std::int64_t rounds = 0, messages = 0;
};
Traffic traffic_of(const ExchangePlan& plan);

}  // namespace titan::train
