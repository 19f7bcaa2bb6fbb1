#pragma once
#include <optional>
#include <string>
#include <vector>

#include "ckpt/ops/inspect.h"
#include "ckpt/ops/stats.h"
#include "cli/kit/verb.h"

namespace titan::cli {

enum class StatsOrder { kStored, kNorm, kMax, kName };  ///< largest first; kMax: of absolute values

/// What is shown beyond the summary.
struct InspectView {
  std::optional<std::string> tensors;                   ///< glob: list the tensors that match
  bool config = false;                                  ///< the resolved configuration
  std::optional<std::vector<ckpt::TensorStats>> stats;  ///< of the listed tensors, in their order
  StatsOrder order = StatsOrder::kStored;
  std::size_t top = SIZE_MAX;  ///< statistics shown; JSON has all
};
std::string inspect_text(const ckpt::InspectReport& report, const InspectView& view, const TextStyle& style);
std::string inspect_json(const ckpt::InspectReport& report, const InspectView& view);

}  // namespace titan::cli
