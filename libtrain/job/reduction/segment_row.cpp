#include "libtrain/job/reduction/segment_row.h"

#include <algorithm>
#include <map>

#include "recipe/plan/plan_values.h"

namespace titan::train {

void SegmentRow::add(const Segment& segment) {
  if (segment.length == 0) return;
  ends_.push_back(length() + segment.length);
  segments_.push_back(segment);
}

void SegmentRow::add(const SegmentRow& row) {
  for (const Segment& segment : row.segments_) add(segment);
}

std::vector<Segment> SegmentRow::cut(std::int64_t from, std::int64_t to) const {
  std::vector<Segment> parts;
  auto i = static_cast<std::size_t>(std::ranges::upper_bound(ends_, from) - ends_.begin());
  for (; i < segments_.size(); ++i) {
    const std::int64_t start = ends_[i] - segments_[i].length;
    if (start >= to) break;
    const std::int64_t first = std::max(from, start), end = std::min(to, ends_[i]);
    parts.push_back({segments_[i].summand, segments_[i].begin + first - start, end - first});
  }
  return parts;
}

std::vector<SegmentRow> owner_rows(const recipe::RunPlan& plan, const ckpt::Ownership& ownership, std::uint32_t stage,
                                   std::span<const std::uint32_t> summands) {
  std::multimap<std::uint32_t, std::uint32_t> summands_of;  // parameter -> summands
  for (std::uint32_t summand = 0; summand < summands.size(); ++summand) summands_of.emplace(summands[summand], summand);
  std::vector<SegmentRow> rows(plan.mesh.dp);
  for (std::uint32_t rank = 0; rank < plan.mesh.dp; ++rank) {
    for (const ckpt::OwnedPiece& piece : ownership.of(stage * plan.mesh.dp + rank)) {
      const ckpt::LeafGrid grid = plan.parameters[piece.parameter].grid(ownership.leaf_elements());
      const auto begin = static_cast<std::int64_t>(grid.begin(piece.leaves.first));
      const auto end = static_cast<std::int64_t>(grid.begin(piece.leaves.end()));
      const auto [first, last] = summands_of.equal_range(piece.parameter);
      for (auto summand = first; summand != last; ++summand) rows[rank].add({summand->second, begin, end - begin});
    }
  }
  return rows;
}

}  // namespace titan::train
