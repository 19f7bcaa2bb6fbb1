#pragma once
// Parts of a stage's tensors, concatenated into one row of elements from which buffers are cut. Pure.
#include <cstdint>
#include <span>
#include <vector>

#include "ckpt/plan/ownership.h"

namespace titan::recipe {
struct RunPlan;
}

namespace titan::train {

/// Elements [begin, begin + length) of a summand. A summand is a tensor in the list that an exchange works on: usually
/// one of the parameters of a stage, or a tied head.
struct Segment {
  std::uint32_t summand = 0;
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
  /// The segments at [from, to) of the row, in order; a `to` beyond the row means the row's end.
  std::vector<Segment> cut(std::int64_t from, std::int64_t to) const;

 private:
  std::vector<Segment> segments_;
  std::vector<std::int64_t> ends_;  // of each segment, in the row
};

/// The elements that each data-parallel rank of pipeline rank `stage` owns, one row per data-parallel rank. `summands`
/// lists the parameter of each summand; a summand whose parameter is not in the model has no owners. A tied head's
/// summand lists the embedding, so both have the same owners.
std::vector<SegmentRow> owner_rows(const recipe::RunPlan& plan, const ckpt::Ownership& ownership, std::uint32_t stage,
                                   std::span<const std::uint32_t> summands);

}  // namespace titan::train
