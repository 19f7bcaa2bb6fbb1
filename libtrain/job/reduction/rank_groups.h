#pragma once
// Divides the ranks of an exchange into groups of neighbours; the number of groups is a power of two. Within a group
// each rank sends to each holder of the group (see below); between groups holders swap in a butterfly. In a large job
// no rank therefore communicates with all others. Exception: with fewer micro-batches than ranks, all ranks are one
// group. Pure.
//
// Each group sums one node of the canonical tree. All groups have the same number of holders, among which the elements
// are divided. If the number of ranks is a multiple of the number of groups, dp_block() gives each rank micro-batches
// of one group, and all ranks are holders. Otherwise some groups have one additional rank, which is not a holder: it
// sends its sums to the holders, and gets the elements that it owns from one of them. A rank whose micro-batches belong
// to the tree nodes of two groups sends to both groups.
#include <cstdint>
#include <optional>
#include <vector>

#include "libtrain/job/reduction/segment_row.h"
#include "libtrain/job/reduction/tree.h"

namespace titan::train {

struct RankGroups {
  std::uint32_t ranks = 1, groups = 1;
  std::uint32_t holders = 1;  ///< number of holders in each group: its first ranks

  std::uint32_t first(std::uint32_t group) const {
    return static_cast<std::uint32_t>(std::uint64_t{group} * ranks / groups);
  }
  std::uint32_t end(std::uint32_t group) const { return first(group + 1); }
  std::uint32_t group_of(std::uint32_t rank) const;
  /// The place of `rank` in its group.
  std::uint32_t place_of(std::uint32_t rank) const { return rank - first(group_of(rank)); }
  bool holds(std::uint32_t rank) const { return place_of(rank) < holders; }
  std::uint32_t holder(std::uint32_t group, std::uint32_t place) const { return first(group) + place; }
  /// The rank of a group that is not a holder, if there is one.
  std::optional<std::uint32_t> extra(std::uint32_t group) const;
  /// The place of the holder that sums the elements that the extra rank `extra` owns, and then sends them to it.
  std::uint32_t place_for(std::uint32_t extra) const;
  /// The tree node that a group sums, in the tree over `count` micro-batches.
  Node node(std::uint32_t count, std::uint32_t group) const { return dp_block(count, groups, group); }
  /// The group that sums the tree node `node`, which lies inside the tree node of one group.
  std::uint32_t group_of(std::uint32_t count, Node node) const;
  /// By group: the elements that the butterfly leaves with the holder at `place`.
  std::vector<SegmentRow> rows(const std::vector<SegmentRow>& owners, std::uint32_t place) const;
};

/// The most holders of a group, if there are at least as many micro-batches as ranks. Larger groups are split, even if
/// some groups then have an additional rank that is not a holder.
inline constexpr std::uint32_t kLargestGroup = 16;

/// The groups of `ranks` ranks that share `count` micro-batches.
RankGroups groups_of(std::uint32_t ranks, std::uint32_t count);

}  // namespace titan::train
