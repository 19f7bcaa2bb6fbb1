#include "cli/plot/html_plot.h"

#include "ckpt/base/text.h"
#include "cli/kit/json_out.h"
#include "cli/kit/text.h"
#include "cli/kit/units.h"
#include "cli/plot/svg_plot.h"
#include "cli/plot/terminal_plot.h"

namespace titan::cli {
namespace {

using recipe::Point;
using recipe::RunCurves;

/// A number with seven significant digits: more than a screen can show, and the page stays small.
void points(JsonOut& json, std::string_view key, const std::vector<Point>& points) {
  json.begin_array(key);
  for (const Point& point : points) {
    json.begin_array();
    json.number(format_real(point.x));
    json.number(format_rounded(point.y, 7));
    json.end_array();
  }
  json.end_array();
}

std::string data(const recipe::Plot& plot) {
  JsonOut json;
  json.begin_object();
  json.members("x", recipe::x_name(plot.options.x), "smooth", plot.options.smooth, "log_x", plot.options.log_x);
  json.members("log_y", plot.options.log_y);
  json.each("panels", plot.panels, [&](const recipe::Panel& panel) {
    json.members("name", recipe::quantity_name(panel.quantity), "title", panel.title);
  });
  std::size_t number = 0;
  json.each("runs", plot.runs, [&](const RunCurves& run) {
    json.members("name", run.name, "color", picture_color(number++));
    json.members("facts", ckpt::joined(run_facts(run, plot.options.x), ", "));
    json.begin_object("curves");
    for (const recipe::Panel& panel : plot.panels) {
      json.begin_object(recipe::quantity_name(panel.quantity));
      points(json, "raw", run.of(panel.quantity).points);
      points(json, "smooth", run.of(panel.quantity).smooth);
      json.end_object();
    }
    json.end_object();
    points(json, "validation", run.validation);
    json.each("restarts", run.restarts, [&](const recipe::RestartMark& mark) {
      json.real("x", mark.x);
      json.text("text",
                "resumed after step " + format_count(mark.step) + (mark.change.empty() ? "" : ", " + mark.change));
    });
    json.list("notes", run.notes(plot.options.x));
  });
  // Escapes names so that they cannot end the script or start another one.
  std::string safe;
  for (const char c : json.document()) safe += c == '<' ? "\\u003c" : std::string(1, c);
  return safe;
}

void put(std::string& page, std::string_view place, const std::string& text) {
  page.replace(page.find(place), place.size(), text);
}

}  // namespace

std::string html_plot(const recipe::Plot& plot) {
  std::vector<std::string> names;
  for (const RunCurves& run : plot.runs) names.push_back(run.name);
  std::string page = kPlotPage;
  // put() replaces the first match, and the page has {{TITLE}} before {{DATA}}. So the data go in first: if a run is
  // named "{{TITLE}}", its name in the data comes after the real placeholder and stays.
  put(page, "{{DATA}}", data(plot));
  put(page, "{{TITLE}}", xml_text(ckpt::joined(names, ", ")));
  return page;
}

}  // namespace titan::cli
