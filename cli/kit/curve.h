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
  std::vector<ckpt::LrPhase> old_phases;  ///< the present LR schedule; drawn '*', or '.' if there is a new one
  std::optional<std::vector<ckpt::LrPhase>> new_phases;  ///< the new LR schedule; drawn '*', over the present one
  std::uint64_t first = 1, last = 1;                     ///< steps drawn, 1-based, inclusive
  std::optional<std::uint64_t> resume;                   ///< first step after the checkpoint, marked by a line of '|'
  std::size_t width = 76, height = 10;  ///< columns of the whole drawing; rows of the plot without axis and legend
};

/// The plot with a labelled axis, a line of step numbers, and a legend if there is a new schedule or a resume. No line
/// is longer than `width`, which is raised to 40 if smaller. A column is drawn from the smallest to the largest
/// learning rate among its steps, so that every jump is visible.
std::string curve_text(const Curve& curve, const Palette& palette);

}  // namespace titan::cli
