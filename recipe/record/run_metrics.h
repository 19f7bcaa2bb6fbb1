#pragma once
// Reads the metrics.jsonl of a run, each line that counts, in memory that does not grow with the file.
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "ckpt/base/result.h"
#include "recipe/record/metrics_line.h"

namespace titan::ckpt {
class Fs;
}

namespace titan::recipe {

/// What was passed over, and why the numbers may be fewer than the lines.
struct MetricsProblems {
  std::uint64_t lines = 0;             ///< of the file
  std::uint64_t unreadable = 0;        ///< lines that are no JSON objects with a step
  std::uint64_t first_unreadable = 0;  ///< the number of the first one, from 1
  std::uint64_t done_again = 0;        ///< lines of steps that a later start did again
  std::uint64_t out_of_order = 0;      ///< steps that do not rise though no start lies between
  bool torn_end = false;               ///< the last line is cut off
  /// One line of text for each.
  std::vector<std::string> notes(const std::string& path) const;
};

/// The metrics.jsonl of what a user typed: a run folder, its folder of steps, or the file itself.
/// \error kNotFound
ckpt::Result<std::string> find_metrics(ckpt::Fs& fs, const std::string& run);

/// Calls `take` with each line that counts, in order. Reads the file twice: a start may make earlier lines obsolete.
/// \error kFailed, kMediaError, kCorrupt (the file became shorter meanwhile)
ckpt::Result<MetricsProblems> read_metrics(ckpt::Fs& fs, const std::string& path,
                                           const std::function<void(const MetricsLine&)>& take);

}  // namespace titan::recipe
