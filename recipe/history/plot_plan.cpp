#include "recipe/history/plot_plan.h"

#include <algorithm>
#include <cmath>

namespace titan::recipe {
namespace {

void include(Span& span, double value, Scale scale) {
  if (scale == Scale::kLog && value <= 0) return;
  span.low = span.empty ? value : std::min(span.low, value);
  span.high = span.empty ? value : std::max(span.high, value);
  span.empty = false;
}

Axis axis_of(const Span& span, Scale scale, std::size_t most, bool widen) {
  if (!span.empty) return make_axis(span.low, span.high, scale, most, widen);
  return scale == Scale::kLog ? make_axis(1, 10, scale, most, widen) : make_axis(0, 1, scale, most, widen);
}

}  // namespace

Plot plan_plot(std::vector<RunCurves> runs, const PlotOptions& options) {
  Plot plot{options, std::move(runs), {}, {}, options.log_x ? Scale::kLog : Scale::kLinear, x_name(options.x)};
  for (const Quantity quantity : options.y) {
    Panel panel{quantity, quantity_title(quantity), {}, options.log_y ? Scale::kLog : Scale::kLinear};
    const auto add = [&](const std::vector<Point>& points) {
      for (const Point& point : points) {
        if (panel.scale == Scale::kLog && point.y <= 0) continue;
        include(plot.x, point.x, plot.x_scale);
        include(panel.values, point.y, panel.scale);
      }
    };
    for (const RunCurves& run : plot.runs) {
      add(run.of(quantity).points);
      if (quantity == Quantity::kLoss) add(run.validation);
    }
    plot.panels.push_back(std::move(panel));
  }
  return plot;
}

Axis y_axis(const Panel& panel, std::size_t most) {
  Span span = panel.values;
  const bool from_zero = panel.quantity == Quantity::kLr || panel.quantity == Quantity::kTps;
  if (from_zero && !span.empty && panel.scale == Scale::kLinear) span.low = std::min(span.low, 0.0);
  return axis_of(span, panel.scale, most, true);
}

Axis x_axis(const Plot& plot, std::size_t most) {
  Span span = plot.x;
  // A run begins at step 1; its axis begins at 0.
  if (plot.x_scale == Scale::kLinear && span.low > 0 && span.low <= 0.05 * span.high) span.low = 0;
  if (plot.x_scale == Scale::kLinear && plot.options.x == XAxis::kStep && !span.empty) {
    // Steps are whole numbers: no tick at 1.5.
    if (span.low == span.high) span = {span.low - 1, span.high + 1, false};
    most = std::min(most, static_cast<std::size_t>(std::max(1.0, std::floor(span.high - span.low))));
  }
  return axis_of(span, plot.x_scale, most, false);
}

}  // namespace titan::recipe
