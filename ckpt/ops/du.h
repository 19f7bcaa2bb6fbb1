#pragma once
// `du`: how the space of runs is used, and how much each kind of thinning would free.
#include <cstdint>
#include <string>
#include <vector>

#include "ckpt/base/result.h"

namespace titan::ckpt {

class Fs;

struct DiskRow {
  std::string name;         ///< "model", "optimizer", "state", "files of the model", "logs and metrics", ...
  std::uint64_t files = 0;  ///< number of names
  std::uint64_t bytes = 0;  ///< bytes of all names
  std::uint64_t once = 0;   ///< bytes of the files that no earlier row of any run has counted
};

struct DiskWay {
  std::string flags;        ///< flags of `prune`; empty: without a rule
  std::uint64_t frees = 0;  ///< bytes of the files that have no other name
};

struct RunDisk {
  std::string run;     ///< as given
  std::string folder;  ///< that holds the steps
  std::uint64_t steps = 0, full = 0;
  std::vector<DiskRow> rows;  ///< rows with at least one file
  std::vector<DiskWay> ways;  ///< those that would free something
};

struct DuReport {
  std::vector<RunDisk> runs;
  std::uint64_t bytes = 0, once = 0;  ///< sums over all runs
};

/// Uses names and sizes, and reads only the manifest and JSON components of each step. `once` counts a file with
/// several names once, also over runs. Targets of symbolic links are not counted. \error kNotFound (no such run),
/// kFailed
Result<DuReport> disk_of_runs(Fs& fs, const std::vector<std::string>& runs);

}  // namespace titan::ckpt
