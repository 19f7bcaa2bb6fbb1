#include "libtrain/job/reduction/rank_groups.h"

#include <bit>

namespace titan::train {

std::uint32_t RankGroups::group_of(std::uint32_t rank) const {
  return static_cast<std::uint32_t>(((std::uint64_t{rank} + 1) * groups - 1) / ranks);
}

std::optional<std::uint32_t> RankGroups::extra(std::uint32_t group) const {
  return end(group) - first(group) > holders ? std::optional(end(group) - 1) : std::nullopt;
}

// Round-robin, so that the extra ranks are divided evenly among the places.
std::uint32_t RankGroups::place_for(std::uint32_t extra) const {
  const std::uint32_t group = group_of(extra);
  return (first(group) - group * holders) % holders;
}

std::uint32_t RankGroups::group_of(std::uint32_t count, Node node) const {
  std::uint32_t group = 0;
  Node above{0, count};
  for (std::uint32_t left = groups; left > 1; left /= 2) {
    const bool right = node.lo >= above.mid();
    above = right ? above.right() : above.left();
    group = 2 * group + (right ? 1 : 0);
  }
  return group;
}

std::vector<SegmentRow> RankGroups::rows(const std::vector<SegmentRow>& owners, std::uint32_t place) const {
  std::vector<SegmentRow> rows(groups);
  for (std::uint32_t group = 0; group < groups; ++group) {
    rows[group] = owners[holder(group, place)];
    if (const auto rank = extra(group); rank && place_for(*rank) == place) rows[group].add(owners[*rank]);
  }
  return rows;
}

RankGroups groups_of(std::uint32_t ranks, std::uint32_t count) {
  RankGroups groups{.ranks = ranks, .groups = 1, .holders = ranks};
  if (ranks == 0 || count < ranks) return groups;
  groups.groups = 1u << std::countr_zero(ranks);
  while (ranks / groups.groups > kLargestGroup) groups.groups *= 2;
  groups.holders = ranks / groups.groups;
  return groups;
}

}  // namespace titan::train
