#pragma once
// `ls` of a folder of runs: one line per run.
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "ckpt/ops/list.h"

namespace titan::ckpt {

class Fs;

struct ListedRun {
  std::string name;                        ///< name of its folder
  std::size_t steps = 0;                   ///< number of saved steps
  std::optional<std::uint64_t> resume;     ///< the step that a resume takes
  std::uint64_t bytes = 0;                 ///< size of all its steps in bytes
  std::optional<ListedStep> newest;        ///< its newest step
  std::optional<std::uint64_t> last_step;  ///< last step in metrics.jsonl, with its loss; empty if the file has none
  std::optional<double> last_loss;
};

/// The runs directly in `folder`, by name; empty if there are none. \error kNotFound, kFailed
Result<std::vector<ListedRun>> list_runs(Fs& fs, const std::string& folder);

/// Step and loss in the last step line of `metrics`, the text of a metrics.jsonl or the end of one.
std::optional<std::pair<std::uint64_t, double>> last_loss(std::string_view metrics);

}  // namespace titan::ckpt
