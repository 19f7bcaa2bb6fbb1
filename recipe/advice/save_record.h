#pragma once
// What the lines of a metrics.jsonl say of steps and saves. Pure.
#include <cstdint>
#include <deque>
#include <optional>

#include "recipe/record/metrics_line.h"

namespace titan::recipe {

struct SaveRecord {
  std::uint64_t first_step = 0, last_step = 0;  ///< 0: no step
  std::optional<double> step_s;                 ///< median of the last steps of the newest start, but its first one
  std::uint64_t step_median_of = 0;
  std::uint64_t saves = 0, failed = 0;    ///< save_commit, save_failed
  std::optional<double> save_s, stall_s;  ///< medians of the last saves: the whole of one; how long training waited
  std::optional<double> save_bytes;       ///< of the last one
  double steps_total_s = 0, saves_total_s = 0;  ///< of all lines; saves: what training waited where that is known
  std::uint64_t resumes = 0;                    ///< starts that went on from a checkpoint
};

/// Takes the lines that count, in order.
class SaveRecordBuilder {
 public:
  void take(const MetricsLine& line);
  SaveRecord finish() const;

 private:
  static constexpr std::size_t kSteps = 50, kSaves = 50;
  SaveRecord record_;
  std::uint64_t steps_of_start_ = 0;
  std::deque<double> steps_, saves_, stalls_;
};

}  // namespace titan::recipe
