#include "cli/kit/json_out.h"
#include "cli/titan_ckpt/plot.h"

namespace titan::cli {
namespace {

using recipe::Curve;
using recipe::Point;
using recipe::RunCurves;

void points_json(JsonOut& json, std::string_view key, const std::vector<Point>& points) {
  json.begin_array(key);
  for (const Point& point : points) {
    json.begin_array();
    json.real(point.x);
    json.real(point.y);
    json.end_array();
  }
  json.end_array();
}

void curve_json(JsonOut& json, const Curve& curve) {
  json.members("count", curve.count, "non_finite", curve.non_finite);
  points_json(json, "points", curve.points);
  if (!curve.smooth.empty()) points_json(json, "smooth", curve.smooth);
}

}  // namespace

std::string plot_json(const recipe::Plot& plot, const std::optional<std::string>& out) {
  JsonOut json("titan.plot/1");
  json.members("x", recipe::x_name(plot.options.x), "smooth", plot.options.smooth);
  json.each("runs", plot.runs, [&](const RunCurves& run) {
    json.text("name", run.name);
    json.path("path", run.path);
    json.members("steps", run.steps, "first_step", run.first_step, "last_step", run.last_step);
    json.begin_object("curves");
    for (const recipe::Quantity quantity : plot.options.y) {
      json.begin_object(recipe::quantity_name(quantity));
      curve_json(json, run.of(quantity));
      json.end_object();
    }
    json.end_object();
    points_json(json, "validation", run.validation);
    json.each("restarts", run.restarts, [&](const recipe::RestartMark& mark) {
      json.members("step", mark.step, "x", mark.x, "change", mark.change);
    });
    json.list("notes", run.notes(plot.options.x));
  });
  if (out) json.path("out", *out);
  return json.document();
}

}  // namespace titan::cli
