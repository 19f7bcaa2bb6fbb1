#include "cli/plot/svg_plot.h"

#include <algorithm>
#include <array>
#include <cstdio>

#include "ckpt/base/text.h"
#include "cli/kit/text.h"
#include "cli/kit/units.h"
#include "cli/plot/terminal_plot.h"

namespace titan::cli {
namespace {

using recipe::Axis;
using recipe::Panel;
using recipe::Plot;
using recipe::Point;
using recipe::Quantity;
using recipe::RunCurves;

constexpr std::array kSvgColors = {"#2f81c7", "#d9640f", "#12996f", "#a566c9", "#b8860b", "#cf5c8a"};

constexpr double kWidth = 880, kLeft = 64, kRight = 20, kTop = 16, kLine = 20;
constexpr std::size_t kLetters = 118;  // characters of ordinary text that fit in a legend line
constexpr double kFirst = 260, kOther = 140, kTitle = 34, kFoot = 46;

/// A coordinate with one decimal: a tenth of a unit is finer than a screen's resolution.
std::string tenth(double value) {
  char buffer[64];
  std::snprintf(buffer, sizeof buffer, "%.1f", value);
  std::string text = buffer;
  if (text.ends_with(".0")) text.resize(text.size() - 2);
  return text == "-0" ? "0" : text;
}

std::string text_at(double x, double y, const char* anchor, const std::string& text, const std::string& more = "") {
  return "<text x=\"" + tenth(x) + "\" y=\"" + tenth(y) + "\" text-anchor=\"" + anchor + "\"" + more + ">" +
         xml_text(text) + "</text>\n";
}

std::string line_between(double x0, double y0, double x1, double y1, const char* kind) {
  return std::string("<line class=\"") + kind + "\" x1=\"" + tenth(x0) + "\" y1=\"" + tenth(y0) + "\" x2=\"" +
         tenth(x1) + "\" y2=\"" + tenth(y1) + "\"/>\n";
}

class Picture {
 public:
  explicit Picture(const Plot& plot) : plot_(plot), x_(recipe::x_axis(plot, 10)) {}

  std::string text() {
    std::string body = legend();
    for (std::size_t i = 0; i < plot_.panels.size(); ++i) body += panel(plot_.panels[i], i == 0 ? kFirst : kOther);
    body += foot();
    body += marks();
    const std::string height = tenth(y_ + 8);
    return "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 " + tenth(kWidth) + " " + height + "\" width=\"" +
           tenth(kWidth) + "\" height=\"" + height +
           "\" font-family=\"system-ui, sans-serif\" font-size=\"12\" fill=\"#222\" color=\"#888\">\n<style>\n"
           ".grid { stroke: #e4e4e4; }\n.frame { stroke: #999; }\n.start { stroke: currentColor; stroke-dasharray: 3 "
           "3; }\n"
           ".curve { fill: none; stroke-width: 1.5; stroke-linejoin: round; }\n.raw { stroke-width: 1; opacity: 0.3; "
           "}\n"
           ".dim { fill: #666; }\n</style>\n<rect width=\"100%\" height=\"100%\" fill=\"#fff\"/>\n" +
           body + "</svg>\n";
  }

 private:
  double at(double x) const { return kLeft + x_.place(x) * (kWidth - kLeft - kRight); }

  std::string legend() {
    std::string out;
    y_ = kTop;
    for (std::size_t i = 0; i < plot_.runs.size(); ++i) {
      const RunCurves& run = plot_.runs[i];
      const double base = y_ + 12;
      out += "<rect x=\"" + tenth(kLeft) + "\" y=\"" + tenth(base - 6) + "\" width=\"18\" height=\"3\" fill=\"" +
             picture_color(i) + "\"/>\n";
      const std::string facts = ckpt::joined(run_facts(run, plot_.options.x), ", ");
      out += "<text x=\"" + tenth(kLeft + 26) + "\" y=\"" + tenth(base) + "\"><tspan font-weight=\"600\">" +
             xml_text(run.name) + "</tspan>";
      // The facts go on the name's line if they fit there, else on the next line.
      const bool fits = display_width(run.name) + display_width(facts) < kLetters;
      if (fits) out += "<tspan class=\"dim\" dx=\"10\">" + xml_text(facts) + "</tspan>";
      out += "</text>\n";
      if (!fits) {
        y_ += kLine;
        out += text_at(kLeft + 26, y_ + 12, "start", facts, " class=\"dim\"");
      }
      y_ += kLine;
    }
    std::string how;
    if (plot_.options.smooth > 0)
      how = "smoothed with weight " + format_rounded(plot_.options.smooth) + "; raw values faint";
    const bool validated =
        std::ranges::any_of(plot_.runs, [](const RunCurves& run) { return !run.validation.empty(); });
    if (validated) how += (how.empty() ? "" : "; ") + std::string("circles: validation loss");
    if (how.empty()) return out;
    out += text_at(kLeft + 26, y_ + 12, "start", how, " class=\"dim\"");
    y_ += kLine;
    return out;
  }

  std::string curve(const Axis& y, double top, double height, const std::vector<Point>& points, std::size_t run,
                    const char* kind) const {
    std::string path;
    for (const Point& point : points) {
      if (y.scale == recipe::Scale::kLog && point.y <= 0) continue;
      if (x_.scale == recipe::Scale::kLog && point.x <= 0) continue;
      path += (path.empty() ? "M" : "L") + tenth(at(point.x)) + " " + tenth(top + (1 - y.place(point.y)) * height);
    }
    if (path.empty()) return path;
    // A path of a single point is visible because line ends are round.
    return std::string("<path class=\"") + kind + "\" stroke=\"" + picture_color(run) +
           "\" stroke-linecap=\"round\" d=\"" + path + (path.find('L') == std::string::npos ? "h0.1" : "") + "\"/>\n";
  }

  /// A dashed vertical line where a run was resumed, in the colour of the run if there are several runs.
  std::string start_line(double x, double top, double bottom, std::size_t run) const {
    const std::string line = line_between(x, top, x, bottom, "start");
    return plot_.runs.size() == 1 ? line : "<g color=\"" + std::string(picture_color(run)) + "\">" + line + "</g>\n";
  }

  std::string panel(const Panel& panel, double height) {
    y_ += kTitle;
    const double top = y_, bottom = y_ + height;
    const Axis y = recipe::y_axis(panel, static_cast<std::size_t>(height / 32));
    std::string title = panel.title;
    if (panel.scale == recipe::Scale::kLog) title += ", logarithmic";
    if (panel.values.empty) title += ": no values";
    std::string out = text_at(kLeft, top - 10, "start", title, " font-weight=\"600\"");
    for (const recipe::Tick& tick : y.ticks) {
      const double place = bottom - y.place(tick.value) * height;
      if (panel.values.empty || tick.label.empty()) continue;
      out += line_between(kLeft, place, kWidth - kRight, place, "grid");
      out += text_at(kLeft - 8, place + 4, "end", tick.label, " class=\"dim\"");
    }
    for (const recipe::Tick& tick : x_.ticks)
      if (!tick.label.empty()) out += line_between(at(tick.value), top, at(tick.value), bottom, "grid");
    for (std::size_t i = 0; i < plot_.runs.size(); ++i)
      for (const recipe::RestartMark& mark : plot_.runs[i].restarts)
        if (x_.place(mark.x) >= 0 && x_.place(mark.x) <= 1) out += start_line(at(mark.x), top, bottom, i);
    out += line_between(kLeft, bottom, kWidth - kRight, bottom, "frame") +
           line_between(kLeft, top, kLeft, bottom, "frame");
    for (std::size_t i = 0; i < plot_.runs.size(); ++i) {
      const recipe::Curve& of = plot_.runs[i].of(panel.quantity);
      out += curve(y, top, height, of.points, i, of.smooth.empty() ? "curve" : "curve raw");
    }
    for (std::size_t i = 0; i < plot_.runs.size(); ++i)
      out += curve(y, top, height, plot_.runs[i].of(panel.quantity).smooth, i, "curve");
    if (panel.quantity == Quantity::kLoss) {
      for (std::size_t i = 0; i < plot_.runs.size(); ++i) {
        for (const Point& point : plot_.runs[i].validation) {
          if (y.scale == recipe::Scale::kLog && point.y <= 0) continue;
          if (x_.scale == recipe::Scale::kLog && point.x <= 0) continue;
          out += "<circle cx=\"" + tenth(at(point.x)) + "\" cy=\"" + tenth(bottom - y.place(point.y) * height) +
                 "\" r=\"3.5\" fill=\"#fff\" stroke-width=\"1.5\" stroke=\"" + picture_color(i) + "\"/>\n";
        }
      }
    }
    y_ = bottom;
    return out;
  }

  std::string foot() {
    std::string out;
    for (const recipe::Tick& tick : x_.ticks)
      if (!tick.label.empty()) out += text_at(at(tick.value), y_ + 18, "middle", tick.label, " class=\"dim\"");
    const std::string title = plot_.x_title + (x_.scale == recipe::Scale::kLog ? ", logarithmic" : "");
    out += text_at(kLeft + (kWidth - kLeft - kRight) / 2, y_ + 36, "middle", title);
    y_ += kFoot;
    return out;
  }

  std::string marks() {
    std::string out;
    for (std::size_t i = 0; i < plot_.runs.size(); ++i) {
      const RunCurves& run = plot_.runs[i];
      if (run.restarts.empty()) continue;
      constexpr std::size_t kMost = 6;
      std::vector<std::string> words;
      for (const recipe::RestartMark& mark : run.restarts) {
        if (words.size() == kMost) {
          words.push_back(std::to_string(run.restarts.size() - kMost) + " more");
          break;
        }
        words.push_back(format_count(mark.step) + (mark.change.empty() ? "" : " with " + mark.change));
      }
      out += start_line(kLeft + 9, y_ + 3, y_ + 16, i);
      std::string line = (plot_.runs.size() > 1 ? run.name + " " : "") + "resumed after step ";
      for (std::size_t k = 0; k < words.size(); ++k) {
        const std::string word = words[k] + (k + 1 < words.size() ? ", " : "");
        if (k > 0 && display_width(line) + display_width(word) > kLetters) {
          out += text_at(kLeft + 26, y_ + 13, "start", line, " class=\"dim\"");
          y_ += kLine;
          line.clear();
        }
        line += word;
      }
      out += text_at(kLeft + 26, y_ + 13, "start", line, " class=\"dim\"");
      y_ += kLine;
    }
    return out;
  }

  const Plot& plot_;
  Axis x_;
  double y_ = 0;
};

}  // namespace

const char* picture_color(std::size_t run) { return kSvgColors[run % kSvgColors.size()]; }

std::string xml_text(std::string_view text) {
  std::string out;
  for (const char c : replace_bad_utf8(text)) {
    switch (c) {
      case '&': out += "&amp;"; break;
      case '<': out += "&lt;"; break;
      case '>': out += "&gt;"; break;
      case '"': out += "&quot;"; break;
      default:
        if (static_cast<unsigned char>(c) >= 0x20) out += c;
    }
  }
  return out;
}

std::string svg_plot(const Plot& plot) { return Picture(plot).text(); }

}  // namespace titan::cli
