#pragma once
// Reads the valid lines of a run's metrics.jsonl, in memory that does not grow with the file.
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "ckpt/base/result.h"
#include "recipe/history/metrics_line.h"

namespace titan::ckpt {
class Fs;
}

namespace titan::recipe {

/// The lines that were skipped, and why.
struct MetricsProblems {
  std::uint64_t lines = 0;             ///< lines in the file
  std::uint64_t unreadable = 0;        ///< lines that are not JSON objects with a step
  std::uint64_t first_unreadable = 0;  ///< line number of the first of them, from 1
  std::uint64_t done_again = 0;        ///< lines of steps that a later start repeated
  std::uint64_t out_of_order = 0;      ///< lines whose step does not ascend, without a start in between
  bool torn_end = false;               ///< the last line is cut off
  /// One line of text for each kind of problem, without done_again, which is usual.
  std::vector<std::string> notes(const std::string& path) const;
};

/// The path of a metrics.jsonl. `run` is a run folder, its folder `checkpoint`, or the file itself.
/// \error kNotFound
ckpt::Result<std::string> find_metrics(ckpt::Fs& fs, const std::string& run);

/// Calls `take` with each valid line, in order. Reads the file twice, since a start may make earlier lines invalid.
/// \error kNotFound, kFailed, kMediaError, kCorrupt (the file became shorter meanwhile)
ckpt::Result<MetricsProblems> read_metrics(ckpt::Fs& fs, const std::string& path,
                                           const std::function<void(const MetricsLine&)>& take);

}  // namespace titan::recipe
