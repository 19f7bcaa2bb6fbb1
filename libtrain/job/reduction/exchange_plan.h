#pragma once
// How the data-parallel ranks of a stage sum their gradients and send each other their weights: which rank sends what
// to which rank, and the size of the buffers. Pure, planned once; no tensors.
//
// Ranks are divided into groups of consecutive ranks. In each group some ranks, usually all, are holders
// (rank_groups.h). The elements of the stage are divided among the holders of a group: the elements that a holder adds
// up are its row. Gradients are summed in three phases:
// 1. All-to-all in each group: every rank sends its sums of each holder's row to that holder, slice by slice and to all
// holders at once. If a rank's micro-batches form several nodes of the canonical tree (tree.h), the rank sends one sum
// for each tree node. A holder adds up what it receives; the result is the sum of the tree node of its group.
// 2. Butterfly between the groups: in step s a holder swaps with the holder at the same place in the group whose number
// is its own group's XOR 2^s. Holders swap a half, then a quarter, then an eighth of their elements, so most bytes go
// between neighbouring groups. Each step adds the two halves of a tree node, so the result is the sum of the tree.
// 3. A rank that is not a holder gets the elements that it owns from a holder.
//
// Weights take the same way in reverse. If the number of ranks is a power of two and no larger than that of
// micro-batches, each rank is a group of its own, and there is only the butterfly.
//
// Rows are cut into messages at multiples of 64 bytes, not at leaves: a leaf (1 MiB) for each of a thousand ranks would
// exceed any buffer, and sums do not depend on where a range begins.
#include <cstdint>
#include <vector>

#include "libtrain/job/reduction/segment_row.h"
#include "libtrain/job/reduction/tree.h"

namespace titan::train {

/// A transfer with one peer in both directions: a step of the butterfly, or an entry of ExchangePlan::handed. Sums:
/// `theirs` is sent, `mine` is received; it is added in the butterfly, and replaces the old values in `handed`.
/// Weights: `mine` is sent, `theirs` is received and replaces the old values.
struct Swap {
  std::uint32_t peer = 0;
  SegmentRow mine, theirs;
};

/// Adds row `from` to row `into`. The left operand is row `into`, which has the micro-batches with lower numbers.
struct Addition {
  std::uint32_t into = 0, from = 0;
  bool operator==(const Addition&) const = default;
};

/// A range of a rank's tree nodes, by their place in the rank's list.
struct NodeRange {
  std::uint32_t first = 0, count = 0;
};

/// What rank `me` sends and receives. Directions are those of sums; for weights (plan_copies()) they are reversed.
struct ExchangePlan {
  std::uint32_t me = 0;
  std::vector<SegmentRow> owners;    ///< for the all-to-all, by rank r: the row that r sums, if r is a holder of the
                                     ///< group of `me` or of a group that `me` sends to; else empty
  std::vector<NodeRange> gives;      ///< by rank r: which of the tree nodes of `me` are sent to r
  std::vector<std::uint32_t> takes;  ///< by rank r: how many sums, one per tree node, r sends to `me`
  std::vector<Addition> additions;   ///< over the received rows (by rank, then node); row 0 ends as the sum
  std::vector<Swap> swaps;           ///< of the butterfly, after the all-to-all
  std::vector<Swap> handed;          ///< after the butterfly: between a holder and a rank that is not one
  std::int64_t message = 0;          ///< elements of a swap's rows per message
  bool all = false;        ///< the all-to-all is among all ranks, not only those of a group and its neighbours
  std::int64_t slice = 0;  ///< elements of each owner's row per message

  /// Calls `use` with each swap of the butterfly, and then with each entry of `handed`.
  template <typename Use>
  void for_swaps(const Use& use) const {
    for (const std::vector<Swap>* steps : {&swaps, &handed})
      for (const Swap& swap : *steps) use(swap);
  }
  /// The ranks that `me` sends to or receives from in the all-to-all, ascending.
  std::vector<std::uint32_t> partners() const;
  /// Number of consecutive messages of a swap.
  std::int64_t messages(const Swap& swap) const;
  /// Number of consecutive messages of the all-to-all.
  std::int64_t slices() const;
  /// Number of elements that the buffers hold.
  std::int64_t buffer_elements() const;
};

/// Messages of a swap in transit at once, per direction.
inline constexpr std::int64_t kSwapsUnderWay = 2;

/// Plans sums over `count` micro-batches, with buffers of at most `elements`. `owners` has, by rank, the elements that
/// the rank owns. (In each of the three plans below, a message has at least 16 elements, even if the buffers are then
/// larger.)
ExchangePlan plan_sums(const std::vector<SegmentRow>& owners, std::uint32_t me, std::uint32_t count,
                       std::int64_t elements);
/// Plans copies of every owner's elements to all ranks, with buffers of at most `elements`.
ExchangePlan plan_copies(const std::vector<SegmentRow>& owners, std::uint32_t me, std::int64_t elements);

/// Plans a turn: gradients of one micro-batch of each rank are sent to their owners, with buffers of at most
/// `elements`.
ExchangePlan plan_turn(const std::vector<SegmentRow>& owners, std::uint32_t me, std::int64_t elements);

/// The elements that each rank of a domain sums after each micro-batch, one row per rank of the domain. The rank at
/// place p sums the rows of the owners at place p of every domain, in the order of domains. Example: with 4 ranks in
/// domains of 2, rank 0 of each domain sums the rows of owners 0 and 2, rank 1 those of owners 1 and 3.
std::vector<SegmentRow> domain_rows(const std::vector<SegmentRow>& owners, std::uint32_t domain);

/// The number of consecutive data-parallel ranks in a domain. Ranks of a domain exchange gradients after each
/// micro-batch; domains exchange their sums at the end of the step. With gradient_exchange = "node", it is the greatest
/// common divisor of the ranks per machine (node) and the data-parallel degree. With "always", and with "late" and
/// ZeRO-2, it is the data-parallel degree. With "late" alone it is 1: gradients are exchanged only at the end of the
/// step.
std::uint32_t domain_size(const recipe::RunPlan& plan);
/// Whether gradients are exchanged after each micro-batch: whether a domain has several ranks.
bool exchanges_per_micro_batch(const recipe::RunPlan& plan);
/// Whether there are several domains, each of several ranks: then World::node and World::between_nodes carry the sums.
bool has_node_groups(const recipe::RunPlan& plan);
/// The micro-batches that DP rank `dp_rank` computes.
Share share_of(const recipe::RunPlan& plan, std::uint32_t dp_rank);
/// Micro-batches in the schedule of DP rank `dp_rank`. All ranks of a domain run the schedule of the domain's largest
/// share, so that they reach the exchanges in the same order; a rank without a micro-batch skips its actions.
std::uint32_t scheduled_count(const recipe::RunPlan& plan, std::uint32_t dp_rank);

/// The messages that a rank sends in one exchange, and the number of consecutive rounds.
struct Traffic {
  std::int64_t rounds = 0, messages = 0;
};
Traffic traffic_of(const ExchangePlan& plan);

}  // namespace titan::train
