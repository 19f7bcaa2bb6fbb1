#pragma once
// Finds where to cut a metrics.jsonl for a start that continues after a given step. Pure.
#include <cstdint>
#include <string>
#include <string_view>

namespace titan::train {

/// Reads a file in parts and finds where to cut it: before the first line with a larger step than `step`, or at the end
/// of the file if there is none. Malformed lines directly before this place are cut off, too; earlier ones stay. Events
/// after the cut with a step of at most `step` are "late": for example, the event that ends a save may be written after
/// lines of later steps.
class MetricsScan {
 public:
  explicit MetricsScan(std::uint64_t step) : step_(step) {}
  void feed(std::string_view piece);

  std::uint64_t cut() const { return cut_; }                  ///< bytes to keep
  const std::string& late() const { return late_; }           ///< late events after the cut, to be kept too
  std::uint64_t whole_lines() const { return whole_lines_; }  ///< end of the last newline
  std::uint64_t size() const { return whole_lines_ + line_.size(); }

 private:
  void line_done();

  std::uint64_t step_;
  std::uint64_t cut_ = 0, whole_lines_ = 0;
  bool passed_ = false;  ///< a larger step was seen
  std::string line_;     ///< the current line so far, without newline
  std::string late_;
};

}  // namespace titan::train
