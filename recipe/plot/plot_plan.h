#pragma once
// From curves to panels: which values each axis spans and where its marks are. Pure; whoever draws asks for axes that
// fit its size.
#include <string>
#include <vector>

#include "recipe/plot/curves.h"
#include "recipe/plot/ticks.h"

namespace titan::recipe {

struct PlotOptions {
  XAxis x = XAxis::kStep;
  std::vector<Quantity> y{kQuantities.begin(), kQuantities.end()};  ///< panels from top to bottom
  bool log_x = false, log_y = false;
  double smooth = 0;
};

/// The values that an axis must hold. `empty` where there is nothing to show.
struct Span {
  double low = 0, high = 1;
  bool empty = true;
};

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

/// Puts runs into panels. On a logarithmic axis only positive values count.
Plot plan_plot(std::vector<RunCurves> runs, const PlotOptions& options);

/// The axis of a panel with at most `most` labels. Learning rate and throughput begin at 0 unless logarithmic.
Axis y_axis(const Panel& panel, std::size_t most);
Axis x_axis(const Plot& plot, std::size_t most);

}  // namespace titan::recipe
