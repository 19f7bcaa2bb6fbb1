#pragma once
// `du`: how much disk space runs use, and how much `prune` could free.
#include <cstdint>
#include <string>
#include <vector>

#include "ckpt/base/result.h"

namespace titan::ckpt {

class Fs;

/// One kind of file of a run.
struct DiskRow {
  std::string name;         ///< "model", "optimizer", "state", "files of the model", "logs and metrics", ...
  std::uint64_t files = 0;  ///< number of names
  std::uint64_t bytes = 0;  ///< total size of all names in bytes (a hard-linked file counts once per name)
  std::uint64_t once = 0;   ///< bytes of the files that no earlier row of any run has counted
};

/// One way to free space with `titan-ckpt prune`.
struct DiskWay {
  std::string flags;        ///< flags of `prune`; empty: none, which removes leftovers only
  std::uint64_t frees = 0;  ///< bytes that would be freed: those of files that lose their last name
};

struct RunDisk {
  std::string run;                    ///< as given
  std::string folder;                 ///< the folder that holds the steps
  std::uint64_t steps = 0, full = 0;  ///< number of steps, and of valid full steps
  std::vector<DiskRow> rows;          ///< rows with at least one file
  std::vector<DiskWay> ways;          ///< only those that would free something
};

struct DuReport {
  std::vector<RunDisk> runs;
  std::uint64_t bytes = 0, once = 0;  ///< sums over all runs
};

/// The disk space of `runs`, from names and sizes of files; reads only the manifest and JSON components of each step.
/// `once` counts a file with several hard links once, also across runs. Targets of symbolic links are not counted.
/// \error kNotFound (no such run), kFailed, kMediaError
Result<DuReport> disk_of_runs(Fs& fs, const std::vector<std::string>& runs);

}  // namespace titan::ckpt
