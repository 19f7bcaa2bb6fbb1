#pragma once
// Prints the report of `titan-ckpt diff`.
#include <string>

#include "ckpt/ops/diff.h"
#include "cli/kit/verb.h"

namespace titan::cli {

/// The order of the tensors. kChange: largest relative change first; kNorm: largest norm of the difference first;
/// kName: by name, ascending.
enum class DiffOrder { kChange, kNorm, kName };

/// What the text shows. The JSON document always has all tensors.
struct DiffView {
  bool stats = false;    ///< statistics of the differences; location and both values of the first difference
  bool moments = false;  ///< tensors of the optimizer too
  DiffOrder order = DiffOrder::kChange;
  std::size_t top = 20;  ///< number of tensors shown
};

std::string diff_text(const ckpt::DiffReport& report, const DiffView& view, const TextStyle& style);
std::string diff_json(const ckpt::DiffReport& report, bool stats);

}  // namespace titan::cli
