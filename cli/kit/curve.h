#pragma once
// Draws an LR schedule for the terminal. Pure.
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "ckpt/model/lr.h"
#include "cli/kit/terminal.h"

namespace titan::cli {

struct Curve {
  std::vector<ckpt::LrPhase> old_phases;  ///< the LR schedule so far; drawn '*', or '.' if there are new phases
  std::optional<std::vector<ckpt::LrPhase>> new_phases;  ///< drawn '*'; where both are equal, only this one is visible
  std::uint64_t first = 1, last = 1;                     ///< steps drawn, 1-based, inclusive
  std::optional<std::uint64_t> resume;                   ///< first step after the checkpoint, marked by a line of '|'
  std::size_t width = 76, height = 10;  ///< columns of the whole drawing; rows of the plot without axis and legend
};

/// Rows of the plot with a labelled axis, a row of step numbers, and, with new phases, a legend. No line is longer than
/// `width` (at least 40). A column spans the smallest and largest rate among its steps, so that every jump is visible.
std::string curve_text(const Curve& curve, const Palette& palette);

}  // namespace titan::cli
