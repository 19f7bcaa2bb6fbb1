#pragma once
// Arranges curves in panels, and chooses the range and the ticks of each axis. Pure. Drawing code asks for axes with as
// many labels as fit.
#include <string>
#include <vector>

#include "recipe/history/curves.h"
#include "recipe/history/ticks.h"

namespace titan::recipe {

struct PlotOptions {
  XAxis x = XAxis::kStep;
  std::vector<Quantity> y{kQuantities.begin(), kQuantities.end()};  ///< panels from top to bottom
  bool log_x = false, log_y = false;
  double smooth = 0;
};

/// The range of values that an axis must show. `empty` if there are none.
struct Span {
  double low = 0, high = 1;
  bool empty = true;
};

/// One diagram of the plot, with one quantity of all runs.
struct Panel {
  Quantity quantity = Quantity::kLoss;
  std::string title;
  Span values;
  Scale scale = Scale::kLinear;
};

struct Plot {
  PlotOptions options;
  std::vector<RunCurves> runs;
  std::vector<Panel> panels;
  Span x;
  Scale x_scale = Scale::kLinear;
  std::string x_title;  ///< "step", "tokens"
};

/// Arranges `runs` in panels. A logarithmic axis uses only positive values.
Plot plan_plot(std::vector<RunCurves> runs, const PlotOptions& options);

/// The y axis of a panel; `most` as in make_axis(). Learning rate and throughput start at 0 unless logarithmic.
Axis y_axis(const Panel& panel, std::size_t most);
/// The common x axis of the panels.
Axis x_axis(const Plot& plot, std::size_t most);

}  // namespace titan::recipe
