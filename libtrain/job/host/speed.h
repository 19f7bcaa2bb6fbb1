#pragma once
// Guesses how long steps take and how long training waits for a save, from the newest attempt of the run, if that
// attempt had the same layout, model, batch, schedule, threads and other settings that determine the speed.
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "recipe/history/metrics_line.h"

namespace titan::recipe {
struct RunPlan;
}

namespace titan::ckpt {
class Fs;
}

namespace titan::train {

struct SpeedGuess {
  double seconds_per_step = 0;  ///< 0: no estimate
  std::uint64_t steps = 0;      ///< the estimate is the median over this many steps
  std::uint32_t attempt = 0;
  std::string why_none;           ///< reason; empty if there is an estimate, or if the run folder has no attempt
  std::optional<double> stall_s;  ///< seconds that training waited for a save; unset if there was no save
};

/// Takes the lines of metrics.jsonl in order. Finds the newest attempt, its ranks, and its last steps, without the
/// attempt's first step.
class SpeedReader {
 public:
  void take(const recipe::MetricsLine& line);
  std::uint32_t attempt() const { return attempt_; }
  std::uint64_t dp() const { return dp_; }  ///< 0: not known
  std::uint64_t pp() const { return pp_; }
  std::uint64_t steps() const { return recent_.size(); }
  double median() const;  ///< seconds; 0 without steps
  std::optional<double> stall() const { return stall_; }

 private:
  static constexpr std::size_t kSteps = 50;
  std::uint32_t attempt_ = 0;
  std::uint64_t dp_ = 0, pp_ = 0, seen_ = 0;
  std::vector<double> recent_;  ///< the last kSteps
  std::optional<double> stall_;
};

/// `threads`: threads of a rank in the coming start; 0: not known.
SpeedGuess guess_speed(ckpt::Fs& fs, const std::string& run_dir, const recipe::RunPlan& plan, int threads);

}  // namespace titan::train
