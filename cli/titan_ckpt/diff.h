#pragma once
#include <string>

#include "ckpt/ops/diff.h"
#include "cli/kit/verb.h"

namespace titan::cli {

enum class DiffOrder { kChange, kNorm, kName };  ///< largest first; by name ascending

/// What the text shows; JSON has everything.
struct DiffView {
  bool stats = false;    ///< statistics of the differences, and location and both values of the first one
  bool moments = false;  ///< tensors of the optimizer too
  DiffOrder order = DiffOrder::kChange;
  std::size_t top = 20;  ///< number of tensors shown
};

std::string diff_text(const ckpt::DiffReport& report, const DiffView& view, const TextStyle& style);
std::string diff_json(const ckpt::DiffReport& report, bool stats);

}  // namespace titan::cli
