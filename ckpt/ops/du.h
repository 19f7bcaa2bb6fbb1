#pragma once
// `du`: what the space of runs is made of, and what each way of thinning would free.
#include <cstdint>
#include <string>
#include <vector>

#include "ckpt/base/fs.h"

namespace titan::ckpt {

struct DiskRow {
  std::string name;         ///< "model", "optimizer", "state", "files of the model", "logs and metrics", ...
  std::uint64_t files = 0;  ///< names
  std::uint64_t bytes = 0;  ///< of all names
  std::uint64_t once = 0;   ///< of files that no row before, of any run, has counted
};

struct DiskWay {
  std::string flags;        ///< of `prune`; empty: without a rule
  std::uint64_t frees = 0;  ///< bytes that have no name elsewhere
};

struct RunDisk {
  std::string run;     ///< as given
  std::string folder;  ///< of the steps
  std::uint64_t steps = 0, full = 0;
  std::vector<DiskRow> rows;  ///< those that have a file
  std::vector<DiskWay> ways;  ///< those that would free something
};

struct DuReport {
  std::vector<RunDisk> runs;
  std::uint64_t bytes = 0, once = 0;  ///< of all runs
};

/// Looks at names and sizes; of each step the manifest is read. Files with several names count once, also over runs.
/// What lies behind a symbolic link counts where it is. \error kNotFound (no such run), kFailed
Result<DuReport> disk_of_runs(Fs& fs, const std::vector<std::string>& runs);

}  // namespace titan::ckpt
