#pragma once
// A plot as text for a terminal or a pipe. Pure.
#include <cstddef>
#include <string>

#include "cli/kit/terminal.h"
#include "recipe/history/plot_plan.h"

namespace titan::cli {

/// Size and characters of a plot.
struct TerminalPlot {
  std::size_t width = 80;  ///< maximum length of a line in columns, at least 40; only long run names exceed it
  std::size_t height = 0;  ///< terminal height in lines; 0: not known; the first panel then has 10 rows, others 5
  bool ascii = false;      ///< use only ASCII characters
  Palette palette;
};

/// A legend with a line per run, a panel per quantity (loss, learning rate, ...) over a common x axis, and the restarts
/// of each run. Several runs differ by colour, or without colours by character.
std::string terminal_plot(const recipe::Plot& plot, const TerminalPlot& style);

/// Facts of a run's curves for a legend: "steps 1 to 200", "last loss 2.6", "least 2.58 at 190", "validation 2.7".
std::vector<std::string> run_facts(const recipe::RunCurves& run, recipe::XAxis x);

}  // namespace titan::cli
