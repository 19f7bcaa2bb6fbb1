#include <algorithm>
#include <optional>
#include <span>
#include <string>

#include "ckpt/base/helpers.h"
#include "ckpt/base/text.h"
#include "ckpt/store/output_file.h"
#include "cli/kit/flag_values.h"
#include "cli/kit/json_out.h"
#include "cli/kit/stop.h"
#include "cli/kit/text.h"
#include "cli/kit/units.h"
#include "cli/plot/html_plot.h"
#include "cli/plot/svg_plot.h"
#include "cli/plot/terminal_plot.h"
#include "cli/titan_ckpt/verbs.h"
#include "recipe/history/plot_plan.h"

namespace titan::cli {
namespace {

using ckpt::Result;
using ckpt::Status;
using recipe::PlotOptions;
using recipe::Point;
using recipe::Quantity;
using recipe::RunCurves;

Result<std::vector<Quantity>> read_quantities(const std::string& text) {
  std::vector<Quantity> found;
  for (const std::string& name : ckpt::split(text, ',')) {
    const auto is = [&](Quantity quantity) { return recipe::quantity_name(quantity) == name; };
    const auto quantity = std::ranges::find_if(recipe::kQuantities, is);
    if (quantity == recipe::kQuantities.end() || std::ranges::find(found, *quantity) != found.end())
      return wrong_value("y", text, "loss, lr, grad_norm or tps, or several of them with commas between");
    found.push_back(*quantity);
  }
  return found;
}

/// "12000", "1.5e9", "200k", "3M", "2G": a place on the x axis.
std::optional<double> place_of(std::string digits) {
  double unit = 1;
  for (const auto& [letter, size] :
       {std::pair{'k', 1e3}, std::pair{'M', 1e6}, std::pair{'G', 1e9}, std::pair{'T', 1e12}}) {
    if (!digits.ends_with(letter)) continue;
    unit = size;
    digits.pop_back();
    break;
  }
  const std::optional<double> value = number_from(0.0)(digits);
  return value ? std::optional(*value * unit) : std::nullopt;
}

Status read_options(const Command& command, PlotOptions& options, recipe::CurveOptions& curves) {
  TITAN_RETURN_IF_ERROR(read_flag(
      command, "x", "step or tokens",
      word_of<recipe::XAxis>({{"step", recipe::XAxis::kStep}, {"tokens", recipe::XAxis::kTokens}}), options.x));
  if (const auto text = command.value("y")) {
    TITAN_ASSIGN_OR_RETURN(options.y, read_quantities(*text));
  }
  TITAN_RETURN_IF_ERROR(read_flag(command, "smooth", "a weight of at least 0 and below 1",
                                  number_that<double>([](double weight) { return weight >= 0 && weight < 1; }),
                                  options.smooth));
  if (const auto text = command.value("log")) {
    if (*text != "x" && *text != "y" && *text != "xy") return wrong_value("log", *text, "x, y or xy");
    options.log_x = text->find('x') != std::string::npos;
    options.log_y = text->find('y') != std::string::npos;
  }
  const std::string place = "a step or a number of tokens: 12000, 200k, 1.5e9";
  TITAN_RETURN_IF_ERROR(read_flag(command, "from", place, place_of, curves.from));
  TITAN_RETURN_IF_ERROR(read_flag(command, "to", place, place_of, curves.to));
  if (curves.from && curves.to && *curves.from > *curves.to)
    return ckpt::invalid("`--from` " + *command.value("from") + " is after `--to` " + *command.value("to"));
  curves.x = options.x;
  curves.smooth = options.smooth;
  return ckpt::ok_status();
}

/// \error kInvalid for a suffix that stands for no kind of picture
Status check_out(const std::string& out) {
  if (out.ends_with(".svg") || out.ends_with(".html")) return ckpt::ok_status();
  const std::string hint = "a picture for a text: x.svg; a page to look into: x.html";
  if (out.empty()) return ckpt::invalid("`--output` is empty, expected the name of a file").with_hint(hint);
  return ckpt::invalid("`--output` is `" + out + "`, expected a name that ends in .svg or .html").with_hint(hint);
}

Status write_out(ckpt::Fs& fs, const std::string& out, const std::string& text) {
  const ckpt::CancelToken cancel = stop_on_signals();  // from here on Ctrl-C has something to clean up
  TITAN_ASSIGN_OR_RETURN(const std::unique_ptr<ckpt::OutputFile> file, ckpt::OutputFile::create(fs, out));
  TITAN_RETURN_IF_ERROR(file->append(std::as_bytes(std::span(text))));
  TITAN_RETURN_IF_ERROR(cancel.check());
  return file->publish();
}

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

void curve_json(JsonOut& json, const recipe::Curve& curve) {
  json.members("count", curve.count, "non_finite", curve.non_finite);
  points_json(json, "points", curve.points);
  if (!curve.smooth.empty()) points_json(json, "smooth", curve.smooth);
}

/// `out`: the file that was written.
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

}  // namespace

ckpt::Result<Answer> run_plot(const Request& request) {
  PlotOptions options;
  recipe::CurveOptions curve_options;
  TITAN_RETURN_IF_ERROR(read_options(request.command, options, curve_options));
  const std::optional<std::string> out = request.command.value("output");
  if (out) {
    TITAN_RETURN_IF_ERROR(check_out(*out));
  }
  std::vector<recipe::RunCurves> runs;
  const std::vector<std::string> names = recipe::run_names(request.fs, request.command.positionals);
  Answer answer;
  for (std::size_t i = 0; i < names.size(); ++i) {
    TITAN_ASSIGN_OR_RETURN(recipe::RunCurves run,
                           recipe::read_curves(request.fs, request.command.positionals[i], curve_options));
    run.name = names[i];
    for (std::string& note : run.notes(options.x)) answer.notes.push_back(escape(note));
    runs.push_back(std::move(run));
  }
  const recipe::Plot plot = recipe::plan_plot(std::move(runs), options);
  if (out) {
    const std::string picture = out->ends_with(".svg") ? svg_plot(plot) : html_plot(plot);
    TITAN_RETURN_IF_ERROR(write_out(request.fs, *out, picture));
    answer.text = "written  " + escape(*out) + ", " + format_bytes(picture.size(), request.style.exact_bytes) + "\n";
  }
  if (request.json) {
    answer.text = plot_json(plot, out);
  } else if (!out) {
    answer.text = terminal_plot(plot, {terminal_width(), terminal_height(),
                                       request.command.has("ascii") || !utf8_of_process(), request.style.palette});
  }
  return answer;
}

}  // namespace titan::cli
