#include "cli/kit/curve.h"

#include <algorithm>
#include <cmath>

#include "ckpt/plan/lr_schedule.h"
#include "cli/kit/units.h"

namespace titan::cli {
namespace {

using Phases = std::vector<ckpt::LrPhase>;

struct Range {
  double low = 0, high = 0;
};

// The smallest and largest LR among the steps [from, to] of a column: of about 64 of them, the first step of each phase
// and the step before it.
Range range_in(const Phases& phases, std::uint64_t from, std::uint64_t to) {
  constexpr std::uint64_t kSamples = 64;
  Range range{ckpt::lr_at(phases, from), ckpt::lr_at(phases, from)};
  const auto add = [&](std::uint64_t n) {
    const double lr = ckpt::lr_at(phases, n);
    range = {std::min(range.low, lr), std::max(range.high, lr)};
  };
  const std::uint64_t stride = std::max<std::uint64_t>(1, (to - from) / kSamples);
  for (std::uint64_t n = from; n <= to && n >= from; n += stride) add(n);
  for (const ckpt::LrPhase& phase : phases) {
    if (phase.first <= from || phase.first > to) continue;
    add(phase.first - 1);
    add(phase.first);
  }
  add(to);
  return range;
}

class Grid {
 public:
  Grid(const Curve& curve, std::size_t columns)
      : curve_(curve), columns_(columns), rows_(std::max<std::size_t>(2, curve.height)) {
    for (const Phases* phases : {&curve.old_phases, curve.new_phases ? &*curve.new_phases : nullptr}) {
      if (phases == nullptr || phases->empty()) continue;
      for (std::size_t column = 0; column < columns_; ++column) top_ = std::max(top_, in_column(*phases, column).high);
    }
    cells_.assign(rows_, std::string(columns_, ' '));
  }

  double top() const { return top_; }
  std::size_t rows() const { return rows_; }
  const std::string& row(std::size_t r) const { return cells_[r]; }

  std::size_t column_of(std::uint64_t step) const {
    for (std::size_t column = 0; column < columns_; ++column)
      if (bounds(column).second >= step) return column;
    return columns_ - 1;
  }

  void line(std::size_t column) {
    for (std::string& row : cells_) row[column] = '|';
  }

  // Connects each column to the previous one, so that a steep curve is a line instead of separate points.
  void draw(const Phases& phases, char mark) {
    if (phases.empty()) return;
    std::optional<Range> before;
    for (std::size_t column = 0; column < columns_; ++column) {
      const Range now = in_column(phases, column);
      std::size_t lowest = row_of(now.low), highest = row_of(now.high);
      if (before) {
        const std::size_t end_low = row_of(before->low), end_high = row_of(before->high);
        if (end_high > lowest + 1) lowest = end_high - 1;
        if (end_low + 1 < highest) highest = end_low + 1;
      }
      for (std::size_t r = highest; r <= lowest; ++r) cells_[r][column] = mark;
      before = now;
    }
  }

 private:
  // The first and last step of a column. Columns may share a step when there are fewer steps than columns.
  std::pair<std::uint64_t, std::uint64_t> bounds(std::size_t column) const {
    const double count = static_cast<double>(curve_.last - curve_.first) + 1;
    const auto at = [&](std::size_t c) {
      return curve_.first + static_cast<std::uint64_t>(count * static_cast<double>(c) / static_cast<double>(columns_));
    };
    const std::uint64_t from = std::min(at(column), curve_.last),
                        next = column + 1 == columns_ ? curve_.last + 1 : at(column + 1);
    return {from, std::max(from, std::min(next - 1, curve_.last))};
  }

  Range in_column(const Phases& phases, std::size_t column) const {
    const auto [from, to] = bounds(column);
    return range_in(phases, from, to);
  }

  // Row 0 is the top.
  std::size_t row_of(double lr) const {
    if (top_ <= 0) return rows_ - 1;
    const double share = std::clamp(lr / top_, 0.0, 1.0);
    return static_cast<std::size_t>(std::lround((1 - share) * static_cast<double>(rows_ - 1)));
  }

  const Curve& curve_;
  std::size_t columns_, rows_;
  double top_ = 0;
  std::vector<std::string> cells_;
};

// Colours a row, with one escape sequence for each sequence of equal characters. `two`: there is a new schedule.
std::string painted(const std::string& row, const Palette& palette, bool two) {
  std::string text;
  for (std::size_t begin = 0; begin < row.size();) {
    std::size_t end = begin;
    while (end < row.size() && row[end] == row[begin]) ++end;
    const std::string run = row.substr(begin, end - begin);
    const Role role = row[begin] == '*'   ? (two ? Role::kOk : Role::kName)
                      : row[begin] == '|' ? Role::kWarning
                                          : Role::kPlain;
    text += role == Role::kPlain ? run : palette.paint(role, run);
    begin = end;
  }
  while (!text.empty() && text.back() == ' ') text.pop_back();
  return text;
}

void put(std::string& row, std::size_t at, const std::string& text) {
  if (at + text.size() > row.size()) return;
  // One blank on both sides, so that the text does not touch other text; without room for that it is dropped.
  const std::size_t from = at > 0 ? at - 1 : 0, to = std::min(row.size(), at + text.size() + 1);
  if (row.find_first_not_of(' ', from) < to) return;
  row.replace(at, text.size(), text);
}

}  // namespace

std::string curve_text(const Curve& given, const Palette& palette) {
  Curve curve = given;
  curve.first = std::max<std::uint64_t>(curve.first, 1);
  curve.last = std::max(curve.last, curve.first);
  constexpr std::size_t kLabel = 9;
  const std::size_t width = std::max<std::size_t>(curve.width, 40), columns = width - kLabel - 2;
  Grid grid(curve, columns);
  const bool marked = curve.resume && *curve.resume >= curve.first && *curve.resume <= curve.last;
  const std::size_t mark = marked ? grid.column_of(*curve.resume) : 0;
  if (marked) grid.line(mark);
  grid.draw(curve.old_phases, curve.new_phases ? '.' : '*');
  if (curve.new_phases) grid.draw(*curve.new_phases, '*');

  std::string out;
  for (std::size_t r = 0; r < grid.rows(); ++r) {
    std::string label;
    if (r == 0)
      label = format_rounded(grid.top(), 3);
    else if (r + 1 == grid.rows())
      label = "0";
    else if (r * 2 == grid.rows() - 1 || (grid.rows() % 2 == 0 && r * 2 == grid.rows())) {
      label = format_rounded(grid.top() * (1 - static_cast<double>(r) / static_cast<double>(grid.rows() - 1)), 3);
    }
    label.insert(0, kLabel > label.size() ? kLabel - label.size() : 0, ' ');
    out += palette.paint(Role::kDim, label) + " |" + painted(grid.row(r), palette, curve.new_phases.has_value()) + "\n";
    while (out.size() >= 2 && out[out.size() - 2] == ' ') out.erase(out.size() - 2, 1);
  }
  out += std::string(kLabel + 1, ' ') + "+" + std::string(columns, '-') + "\n";
  std::string steps(columns, ' ');
  if (marked) {
    const std::string text = std::to_string(*curve.resume);
    // The step number goes to the right of the mark, or to the left if the right has no room.
    const std::string left = text + " ^", right = "^ " + text;
    put(steps, mark + right.size() <= columns ? mark : mark + 1 - std::min(mark + 1, left.size()),
        mark + right.size() <= columns ? right : left);
  }
  put(steps, 0, std::to_string(curve.first));
  const std::string last = std::to_string(curve.last);
  put(steps, columns - std::min(columns, last.size()), last);
  while (!steps.empty() && steps.back() == ' ') steps.pop_back();
  out += std::string(kLabel + 2, ' ') + palette.paint(Role::kDim, steps) + "\n";
  std::string legend;
  if (curve.new_phases) legend += ".  before    *  after";
  if (marked) legend += std::string(legend.empty() ? "" : "    ") + "|  next step";
  if (!legend.empty()) out += std::string(kLabel + 2, ' ') + palette.paint(Role::kDim, legend) + "\n";
  return out;
}

}  // namespace titan::cli
