#pragma once
// Parts of a stage's tensors, laid one behind the other as one row of elements from which buffers are cut. Pure.
#include <cstdint>
#include <span>
#include <vector>

#include "ckpt/plan/ownership.h"

namespace titan::recipe {
struct RunPlan;
}

namespace titan::train {

/// Elements [begin, begin + length) of a slot. The slots of a stage are its parameters; a tied head is a slot too.
struct Segment {
  std::uint32_t slot = 0;
  std::int64_t begin = 0, length = 0;
  std::int64_t end() const { return begin + length; }
  bool operator==(const Segment&) const = default;
};

class SegmentRow {
 public:
  void add(const Segment& segment);
  void add(const SegmentRow& row);
  std::int64_t length() const { return ends_.empty() ? 0 : ends_.back(); }
  const std::vector<Segment>& segments() const { return segments_; }
  /// What lies at [from, to) of the row, in order; an end beyond the row is the row's.
  std::vector<Segment> cut(std::int64_t from, std::int64_t to) const;

 private:
  std::vector<Segment> segments_;
  std::vector<std::int64_t> ends_;  // of each segment, in the row
};

/// What each data-parallel rank of a stage owns, as one row per rank. `slots` are the parameters of the stage's slots;
/// a tied head is owned as its embedding is.
std::vector<SegmentRow> owner_rows(const recipe::RunPlan& plan, const ckpt::Ownership& ownership, std::uint32_t stage,
                                   std::span<const std::uint32_t> slots);

}  // namespace titan::train
