#pragma once
// A plot as text for a terminal or a pipe. Pure.
#include <cstddef>
#include <string>

#include "cli/kit/terminal.h"
#include "recipe/plot/plot_plan.h"

namespace titan::cli {

struct TerminalPlot {
  std::size_t width = 80;  ///< no line is longer, except for long names; at least 40
  std::size_t height = 0;  ///< of the terminal in lines; 0: not known, panels have their usual heights
  bool ascii = false;      ///< no character outside of ASCII
  Palette palette;
};

/// One line for each run, then a panel for each quantity over one x axis, then the restarts. Several runs differ by
/// colour; without colours by character.
std::string terminal_plot(const recipe::Plot& plot, const TerminalPlot& style);

/// "loss 2.6 at the end, least 2.58 at step 190": facts of a run's curves, for legends.
std::vector<std::string> run_facts(const recipe::RunCurves& run, recipe::XAxis x);

}  // namespace titan::cli
