#include "cli/kit/table.h"

#include <algorithm>
#include <numeric>

#include "ckpt/base/wrap.h"
#include "cli/kit/text.h"

namespace titan::cli {

// Divides the columns into lines that fit `width`. A left-aligned last column gets the remaining width of its line if
// that is at least a third of `width`.
std::vector<Table::Span> Table::spans(std::vector<std::size_t>& widths, std::size_t indent, std::size_t width) const {
  constexpr std::size_t kBelow = 4;  // indent of the lines after the first of a row
  std::vector<Span> found{{0, 0, indent}};
  std::size_t used = indent;
  for (std::size_t i = 0; i < widths.size(); ++i) {
    const bool starts = found.back().first == i;
    const std::size_t gutter = starts ? 0 : 2;
    const bool words = i + 1 == widths.size() && columns_[i].align == Align::kLeft;
    if (width > 0 && used + gutter + widths[i] > width && words && used + gutter + width / 3 <= width)
      widths[i] = width - used - gutter;
    if (width > 0 && used + gutter + widths[i] > width && !starts) {
      found.push_back({i, i, indent + kBelow});
      used = indent + kBelow;
      if (words && used + widths[i] > width) widths[i] = std::max<std::size_t>(width, used + 20) - used;
      used += widths[i];
    } else {
      used += gutter + widths[i];
    }
    found.back().last = i + 1;
  }
  return found;
}

std::string Table::side_by_side(const Line& line, const Span& span, const std::vector<std::size_t>& widths,
                                const Palette& palette) const {
  std::string out;
  std::string pending(span.indent, ' ');  // blanks that are only written when text follows
  std::size_t column = span.indent;
  for (std::size_t i = span.first; i < std::min(line.size(), span.last); ++i) {
    const std::string& text = line[i].text;
    const std::size_t shown = display_width(text);
    const std::string padding(widths[i] - std::min(widths[i], shown), ' ');
    if (i > span.first) pending += "  ";
    column += i > span.first ? 2 : 0;
    if (columns_[i].align == Align::kRight) pending += padding;
    if (!text.empty()) {
      const bool folds = shown > widths[i];
      out += pending + palette.paint(line[i].role, folds ? ckpt::wrapped_text(text, widths[i] + column, column) : text);
      pending.clear();
    }
    if (columns_[i].align == Align::kLeft) pending += padding;
    column += widths[i];
  }
  return out;
}

std::vector<std::size_t> Table::widths() const {
  std::vector<std::size_t> widths;
  for (const Column& column : columns_) widths.push_back(display_width(column.title));
  for (const Line& line : rows_)
    for (std::size_t i = 0; i < std::min(line.size(), widths.size()); ++i)
      widths[i] = std::max(widths[i], display_width(line[i].text));
  return widths;
}

std::size_t Table::line_width(std::size_t indent) const {
  const std::vector<std::size_t> all = widths();
  return std::accumulate(all.begin(), all.end(), indent + 2 * (all.size() - 1));
}

Table Table::without_spare_columns() const {
  Table fewer({});
  fewer.rows_.resize(rows_.size());
  for (std::size_t i = 0; i < columns_.size(); ++i) {
    if (columns_[i].spare) continue;
    fewer.columns_.push_back(columns_[i]);
    for (std::size_t r = 0; r < rows_.size(); ++r)
      if (i < rows_[r].size()) fewer.rows_[r].push_back(rows_[r][i]);
  }
  return fewer;
}

std::string Table::render(const Palette& palette, const std::string& indent) const {
  if (palette.width > 0 && line_width(indent.size()) > palette.width) {
    const Table fewer = without_spare_columns();
    const bool fits = fewer.columns_.size() < columns_.size() && fewer.line_width(indent.size()) <= palette.width;
    if (fits) return fewer.render(palette, indent);
  }
  std::vector<Line> lines;
  const bool titled = std::any_of(columns_.begin(), columns_.end(), [](const Column& c) { return !c.title.empty(); });
  if (titled) {
    Line header;
    for (const Column& column : columns_) header.emplace_back(column.title, Role::kDim);
    lines.push_back(std::move(header));
  }
  lines.insert(lines.end(), rows_.begin(), rows_.end());

  std::vector<std::size_t> wide = widths();
  const std::vector<Span> parts = spans(wide, indent.size(), palette.width);

  std::string out;
  for (const Line& line : lines) {
    for (const Span& span : parts) {
      const std::string text = side_by_side(line, span, wide, palette);
      if (!text.empty() || span.first == 0) out += text + "\n";
    }
  }
  return out;
}

std::string heading(const Palette& palette, const std::string& title) {
  return "\n" + palette.paint(Role::kName, title) + "\n";
}

}  // namespace titan::cli
