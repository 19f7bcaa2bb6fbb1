#pragma once
// Statistics of steps and saves, from the lines of a metrics.jsonl. Pure.
#include <cstdint>
#include <deque>
#include <optional>

#include "recipe/history/metrics_line.h"

namespace titan::recipe {

/// Statistics of the steps and saves in one file.
struct SaveRecord {
  std::uint64_t first_step = 0, last_step = 0;  ///< 0: no step
  std::optional<double> step_s;  ///< seconds: median over the last steps of the newest start, without its first step
  std::uint64_t step_median_of = 0;             ///< number of steps in this median
  std::uint64_t saves = 0, failed = 0;          ///< numbers of save_commit and save_failed lines
  std::optional<double> save_s, stall_s;        ///< medians of the last saves, in seconds: duration; how long training
                                                ///< waited
  std::optional<double> save_bytes;             ///< bytes of the last save
  double steps_total_s = 0, saves_total_s = 0;  ///< seconds over all lines; of a save: how long training waited,
                                                ///< or its duration if that is not known or 0
  std::uint64_t resumes = 0;                    ///< starts that resumed from a checkpoint
};

/// Collects the statistics from the valid lines of a file, in order.
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
