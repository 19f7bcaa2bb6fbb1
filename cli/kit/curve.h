#pragma once
// A learning-rate curve as a drawing for the terminal. Pure: phases in, text out.
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "ckpt/model/lr.h"
#include "cli/kit/terminal.h"

namespace titan::cli {

struct Curve {
  std::vector<ckpt::LrPhase> old_phases;  ///< the curve so far; drawn '*', or '.' if there are new phases
  std::optional<std::vector<ckpt::LrPhase>> new_phases;  ///< drawn '*'; only this curve shows where both agree
  std::uint64_t first = 1, last = 1;                     ///< steps drawn, 1-based, both included
  std::optional<std::uint64_t> resume;                   ///< first step after the checkpoint: marked by a line of '|'
  std::size_t width = 76, height = 10;  ///< columns of the whole drawing; rows of the plot without axis and legend
};

/// Rows of the plot with a labelled axis, a row of steps, and, with new phases, a legend; no line is longer than
/// `width` (at least 40). A column shows the least and the greatest rate among its steps, joined, so that no jump
/// disappears.
std::string curve_text(const Curve& curve, const Palette& palette);

}  // namespace titan::cli
