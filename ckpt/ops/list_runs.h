#pragma once
// `ls` of a folder of runs: a line for each.
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "ckpt/base/fs.h"
#include "ckpt/ops/list.h"

namespace titan::ckpt {

struct ListedRun {
  std::string name;                        ///< of its folder
  std::size_t steps = 0;                   ///< saved ones
  std::optional<std::uint64_t> resume;     ///< the step that a resume takes
  std::uint64_t bytes = 0;                 ///< of its steps
  std::optional<ListedStep> newest;        ///< of them
  std::optional<std::uint64_t> last_step;  ///< of metrics.jsonl, and its loss; nothing where it has none
  std::optional<double> last_loss;
};

/// The runs that lie in `folder` itself, by name; empty where there is none. \error kNotFound, kFailed
Result<std::vector<ListedRun>> list_runs(Fs& fs, const std::string& folder);

/// Step and loss of the last step line of `metrics`, the text of a metrics.jsonl or the end of one.
std::optional<std::pair<std::uint64_t, double>> last_loss(std::string_view metrics);

}  // namespace titan::ckpt
