#pragma once
// Ranks of an exchange in groups of neighbours, as many groups as a power of two: within a group each rank sends to
// each, between groups ranks swap in a butterfly. So no rank talks to all others, whatever their number. Pure.
//
// Each group has a node of the canonical tree, and sums it; each has as many holders, between which its elements are
// divided. Where the number of ranks is such a multiple, dp_block() gives each rank micro-batches of one group, and all
// are holders. Else groups of one rank more have a rank that holds nothing: it gives what it has to the holders, and
// gets what it owns from one of them; and a rank between two nodes gives to both.
#include <cstdint>
#include <optional>
#include <vector>

#include "libtrain/job/order/segment_row.h"
#include "libtrain/job/order/tree.h"

namespace titan::train {

struct RankGroups {
  std::uint32_t ranks = 1, groups = 1;
  std::uint32_t holders = 1;  ///< of each group

  std::uint32_t first(std::uint32_t group) const {
    return static_cast<std::uint32_t>(std::uint64_t{group} * ranks / groups);
  }
  std::uint32_t end(std::uint32_t group) const { return first(group + 1); }
  std::uint32_t group_of(std::uint32_t rank) const;
  /// Its place in its group.
  std::uint32_t place_of(std::uint32_t rank) const { return rank - first(group_of(rank)); }
  bool holds(std::uint32_t rank) const { return place_of(rank) < holders; }
  std::uint32_t holder(std::uint32_t group, std::uint32_t place) const { return first(group) + place; }
  /// The rank of a group that holds nothing, if there is one.
  std::optional<std::uint32_t> extra(std::uint32_t group) const;
  /// The place of the holder that sums for an extra rank.
  std::uint32_t place_for(std::uint32_t extra) const;
  /// The node that a group sums, of the tree over `count`.
  Node node(std::uint32_t count, std::uint32_t group) const { return dp_block(count, groups, group); }
  /// Which group sums `node`, a node inside one of the groups' nodes.
  std::uint32_t group_of(std::uint32_t count, Node node) const;
  /// By group: what ends, in a butterfly, with the holder that has this place.
  std::vector<SegmentRow> rows(const std::vector<SegmentRow>& owners, std::uint32_t place) const;
};

/// Ranks of a group beyond which it is divided, though a rank of it may be left over.
inline constexpr std::uint32_t kLargestGroup = 16;

/// The groups of `ranks` that share `count` micro-batches.
RankGroups groups_of(std::uint32_t ranks, std::uint32_t count);

}  // namespace titan::train
