#include "cli/plot/terminal_plot.h"

#include <algorithm>
#include <optional>

#include "ckpt/base/text.h"
#include "cli/kit/text.h"
#include "cli/kit/units.h"
#include "cli/plot/canvas.h"

namespace titan::cli {
namespace {

using recipe::Axis;
using recipe::Panel;
using recipe::Plot;
using recipe::Point;
using recipe::Quantity;
using recipe::RunCurves;

struct Signs {
  const char *left, *tick, *corner, *base, *foot, *rule, *point;
};
constexpr Signs kUnicode{"│", "┤", "└", "─", "┬", "┊", "◆"};
constexpr Signs kAscii{"|", "+", "+", "-", "+", ":", "o"};

struct Heights {
  std::size_t first = 10, other = 5;
};

/// Panel heights for a terminal of `height` lines, of which `fixed` are needed for legend, titles and axis.
Heights heights_for(std::size_t height, std::size_t fixed, std::size_t panels) {
  Heights found;
  if (height == 0 || panels == 0) return found;
  const std::size_t free = height > fixed ? height - fixed : 0, share = free / (panels + 1);
  found.other = std::clamp<std::size_t>(share, 3, 8);
  const std::size_t others = found.other * (panels - 1);
  found.first = std::clamp<std::size_t>(free > others ? free - others : 0, 5, 16);
  return found;
}

/// Words on as many lines as the width needs; continuation lines are indented.
std::string folded(const std::vector<std::string>& words, const char* between, std::size_t width, std::size_t begin,
                   std::size_t indent) {
  std::string text;
  std::size_t column = begin;
  for (std::size_t i = 0; i < words.size(); ++i) {
    const std::string glue = i == 0 ? "" : between;
    const std::size_t wide = display_width(words[i]);
    if (i > 0 && column + display_width(glue) + wide > width) {
      text += glue.substr(0, glue.find(' ')) + "\n" + std::string(indent, ' ');
      column = indent;
    } else {
      text += glue;
      column += display_width(glue);
    }
    text += words[i];
    column += wide;
  }
  return text;
}

class Drawing {
 public:
  Drawing(const Plot& plot, const TerminalPlot& style)
      : plot_(plot),
        style_(style),
        signs_(style.ascii ? kAscii : kUnicode),
        width_(std::max<std::size_t>(style.width, 40)),
        // Without colours, several curves in one braille panel cannot be distinguished.
        dots_(!style.ascii && (plot.runs.size() == 1 || style.palette.on)) {}

  std::string text() {
    const std::string legend = this->legend(), marks = this->marks();
    const auto lines = [](const std::string& text) {
      return static_cast<std::size_t>(std::count(text.begin(), text.end(), '\n'));
    };
    // Titles, the x axis with its numbers, and a line for the prompt.
    const Heights heights =
        heights_for(style_.height, lines(legend) + lines(marks) + plot_.panels.size() + 3, plot_.panels.size());
    std::vector<std::size_t> rows;
    for (std::size_t i = 0; i < plot_.panels.size(); ++i) rows.push_back(i == 0 ? heights.first : heights.other);
    std::vector<Axis> axes;
    for (std::size_t i = 0; i < plot_.panels.size(); ++i) {
      axes.push_back(y_axis(plot_.panels[i], rows[i]));
      for (const recipe::Tick& tick : axes.back().ticks) label_ = std::max(label_, tick.label.size());
    }
    columns_ = width_ - label_ - 2;
    x_ = recipe::x_axis(plot_, std::max<std::size_t>(2, columns_ / 12));
    std::string out = legend;
    for (std::size_t i = 0; i < plot_.panels.size(); ++i) out += panel(plot_.panels[i], axes[i], rows[i]);
    return out + foot() + marks;
  }

 private:
  /// The y axis with so few ticks that no two labels are in one row; at least two ticks are requested.
  Axis y_axis(const Panel& panel, std::size_t rows) const {
    const Canvas canvas(1, rows, dots_);
    std::size_t most = std::max<std::size_t>(2, (rows + 1) / 2);
    for (;; --most) {
      Axis axis = recipe::y_axis(panel, most);
      std::vector<bool> taken(rows, false);
      bool apart = true;
      for (const recipe::Tick& tick : axis.ticks) {
        if (tick.label.empty()) continue;
        const std::size_t row = canvas.row_of(axis.place(tick.value));
        apart = apart && !taken[row];
        taken[row] = true;
      }
      if (apart || most == 2) return axis;
    }
  }

  std::string dim(std::string_view text) const { return style_.palette.paint(Role::kDim, text); }

  std::string legend() const {
    std::string out;
    for (std::size_t i = 0; i < plot_.runs.size(); ++i) {
      const RunCurves& run = plot_.runs[i];
      const std::string mark = dots_ ? (style_.palette.on ? "━━" : "") : std::string(1, run_mark(i)),
                        name = escape(run.name);
      std::string line = mark.empty() ? "" : paint_run(style_.palette, i, mark) + " ";
      line += style_.palette.paint(Role::kName, name) + "  ";
      const std::size_t begin = display_width(mark) + (mark.empty() ? 0 : 1) + display_width(name) + 2;
      out += line + folded(run_facts(run, plot_.options.x), ", ", width_, begin, 4) + "\n";
    }
    std::vector<std::string> words;
    if (plot_.options.smooth > 0) {
      words.push_back("smoothed with weight " + format_rounded(plot_.options.smooth));
      if (draws_raw()) words.push_back(dots_ ? "raw values faint" : ". raw values");
    }
    for (const RunCurves& run : plot_.runs) {
      if (run.validation.empty() || std::ranges::find(plot_.options.y, Quantity::kLoss) == plot_.options.y.end())
        continue;
      words.push_back(std::string(signs_.point) + " validation loss");
      break;
    }
    if (!words.empty()) out += dim(folded(words, "; ", width_, 0, 0)) + "\n";
    return out;
  }

  /// Whether raw values are drawn under a smoothed curve. That needs a faint colour, or '.' for the only run.
  bool draws_raw() const { return style_.palette.on || (!dots_ && plot_.runs.size() == 1); }

  void curve(Canvas& canvas, const Axis& y, const std::vector<Point>& points, const Ink& ink) const {
    std::optional<Point> before;
    for (const Point& point : points) {
      if (y.scale == recipe::Scale::kLog && point.y <= 0) continue;
      if (x_.scale == recipe::Scale::kLog && point.x <= 0) continue;
      const Point now{x_.place(point.x), y.place(point.y)}, from = before.value_or(now);
      canvas.line(from.x, from.y, now.x, now.y, ink);
      before = now;
    }
  }

  std::string panel(const Panel& panel, const Axis& y, std::size_t rows) const {
    Canvas canvas(columns_, rows, dots_);
    for (const RunCurves& run : plot_.runs)
      for (const recipe::RestartMark& mark : run.restarts)
        if (const double x = x_.place(mark.x); x >= 0 && x <= 1) canvas.rule(x, signs_.rule);
    for (std::size_t i = 0; i < plot_.runs.size(); ++i) {
      const recipe::Curve& of = plot_.runs[i].of(panel.quantity);
      if (of.smooth.empty() || draws_raw())
        curve(canvas, y, of.points, {i, !of.smooth.empty(), of.smooth.empty() ? run_mark(i) : '.'});
    }
    for (std::size_t i = 0; i < plot_.runs.size(); ++i)
      curve(canvas, y, plot_.runs[i].of(panel.quantity).smooth, {i, false, run_mark(i)});
    if (panel.quantity == Quantity::kLoss) {
      for (std::size_t i = 0; i < plot_.runs.size(); ++i)
        for (const Point& point : plot_.runs[i].validation)
          if (y.place(point.y) >= 0 && x_.place(point.x) >= 0)
            canvas.sign(x_.place(point.x), y.place(point.y), signs_.point, {i, false, 'o'});
    }
    std::vector<std::string> labels(rows);
    std::vector<bool> marked(rows, false);
    for (const recipe::Tick& tick : y.ticks) {
      const std::size_t row = canvas.row_of(y.place(tick.value));
      if (tick.label.empty() || !labels[row].empty()) continue;
      labels[row] = tick.label;
      marked[row] = true;
    }
    std::string out = std::string(label_ + 2, ' ') + panel.title +
                      (panel.scale == recipe::Scale::kLog ? ", logarithmic" : "") +
                      (panel.values.empty ? ": no values" : "") + "\n";
    if (panel.values.empty) return out;
    const std::vector<std::string> drawn = canvas.rows(style_.palette);
    for (std::size_t row = 0; row < rows; ++row) {
      const std::string label = std::string(label_ - labels[row].size(), ' ') + labels[row];
      out += dim(label + " " + (marked[row] ? signs_.tick : signs_.left)) + drawn[row] + "\n";
    }
    return out;
  }

  std::string foot() const {
    const Canvas canvas(columns_, 2, dots_);
    std::vector<std::string> base(columns_, signs_.base);
    std::string labels(columns_, ' ');
    const std::string title = " " + plot_.x_title + (x_.scale == recipe::Scale::kLog ? ", logarithmic" : "");
    // The title is at the right end of the line of numbers. A number that would touch it or another number is left out.
    std::size_t free = 0;
    const std::size_t end = columns_ + 1 - std::min(columns_, title.size() + 1);
    for (const recipe::Tick& tick : x_.ticks) {
      const std::size_t column = canvas.column_of(x_.place(tick.value)), half = tick.label.size() / 2;
      if (!tick.label.empty()) base[column] = signs_.foot;
      const std::size_t begin = column > half ? column - half : 0;
      if (tick.label.empty() || begin < free || begin + tick.label.size() > end) continue;
      labels.replace(begin, tick.label.size(), tick.label);
      free = begin + tick.label.size() + 2;
    }
    labels.replace(columns_ - title.size(), title.size(), title);
    return dim(std::string(label_ + 1, ' ') + signs_.corner + ckpt::joined(base, "")) + "\n" +
           std::string(label_ + 2, ' ') + dim(labels) + "\n";
  }

  std::string marks() const {
    std::string out;
    for (const RunCurves& run : plot_.runs) {
      if (run.restarts.empty()) continue;
      constexpr std::size_t kMost = 12;
      std::vector<std::string> words;
      for (const recipe::RestartMark& mark : run.restarts)
        words.push_back(format_count(mark.step) + (mark.change.empty() ? "" : " with " + mark.change));
      if (words.size() > kMost) {
        const std::string more = std::to_string(words.size() - kMost) + " more";
        words.resize(kMost);
        words.push_back(more);
      }
      const std::string who = plot_.runs.size() > 1 ? escape(run.name) + " " : "";
      const std::string begin = std::string(signs_.rule) + " " + who + "resumed after step ";
      out += dim(begin + folded(words, ", ", width_, display_width(begin), 2)) + "\n";
    }
    return out;
  }

  const Plot& plot_;
  const TerminalPlot& style_;
  const Signs& signs_;
  std::size_t width_;
  bool dots_;
  std::size_t label_ = 1, columns_ = 0;
  Axis x_;
};

}  // namespace

std::vector<std::string> run_facts(const RunCurves& run, recipe::XAxis x) {
  std::vector<std::string> facts;
  facts.push_back("steps " + format_count(run.first_step) + " to " + format_count(run.last_step));
  const recipe::Curve& loss = run.of(Quantity::kLoss);
  if (loss.last) facts.push_back("last loss " + format_rounded(loss.last->y));
  if (loss.least) {
    const std::string at = x == recipe::XAxis::kStep ? format_count(static_cast<std::uint64_t>(loss.least->x))
                                                     : recipe::tick_label(loss.least->x, loss.least->x / 1000);
    facts.push_back("least " + format_rounded(loss.least->y) + " at " + at +
                    (x == recipe::XAxis::kStep ? "" : " tokens"));
  }
  if (!run.validation.empty()) facts.push_back("validation " + format_rounded(run.validation.back().y));
  return facts;
}

std::string terminal_plot(const Plot& plot, const TerminalPlot& style) { return Drawing(plot, style).text(); }

}  // namespace titan::cli
