#pragma once
// Prints the report of `titan-ckpt inspect`.
#include <optional>
#include <string>
#include <vector>

#include "ckpt/ops/inspect.h"
#include "ckpt/ops/stats.h"
#include "cli/kit/verb.h"

namespace titan::cli {

/// The order of the statistics. kStored: as in the checkpoint; kNorm: largest norm first; kMax: largest absolute value
/// first; kName: by name, ascending.
enum class StatsOrder { kStored, kNorm, kMax, kName };

/// What is shown in addition to the summary.
struct InspectView {
  std::optional<std::string> tensors;                   ///< glob pattern: list the tensors whose names match
  bool config = false;                                  ///< show the resolved configuration
  std::optional<std::vector<ckpt::TensorStats>> stats;  ///< statistics of the listed tensors, in the order of the list
  StatsOrder order = StatsOrder::kStored;
  std::size_t top = SIZE_MAX;  ///< number of tensors whose statistics the text shows; the JSON document has all
};
std::string inspect_text(const ckpt::InspectReport& report, const InspectView& view, const TextStyle& style);
std::string inspect_json(const ckpt::InspectReport& report, const InspectView& view);

}  // namespace titan::cli
