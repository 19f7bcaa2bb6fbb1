#include "cli/kit/table.h"

#include <algorithm>

#include "cli/kit/text.h"

namespace titan::cli {

std::string Table::render(const Palette& palette, const std::string& indent) const {
  std::vector<std::vector<Cell>> lines;
  const bool titled = std::any_of(columns_.begin(), columns_.end(), [](const Column& c) { return !c.title.empty(); });
  if (titled) {
    std::vector<Cell> header;
    for (const Column& column : columns_) header.emplace_back(column.title, Role::kDim);
    lines.push_back(std::move(header));
  }
  lines.insert(lines.end(), rows_.begin(), rows_.end());

  std::vector<std::size_t> widths(columns_.size());
  for (const auto& line : lines)
    for (std::size_t i = 0; i < std::min(line.size(), widths.size()); ++i)
      widths[i] = std::max(widths[i], display_width(line[i].text));

  std::string out;
  for (const auto& line : lines) {
    std::string pending = indent;  // blanks that are only written when text follows
    for (std::size_t i = 0; i < std::min(line.size(), widths.size()); ++i) {
      const std::string padding(widths[i] - display_width(line[i].text), ' ');
      if (i > 0) pending += "  ";
      if (columns_[i].align == Align::kRight) pending += padding;
      if (!line[i].text.empty()) {
        out += pending + palette.paint(line[i].role, line[i].text);
        pending.clear();
      }
      if (columns_[i].align == Align::kLeft) pending += padding;
    }
    out += '\n';
  }
  return out;
}

std::string heading(const Palette& palette, const std::string& title) {
  return "\n" + palette.paint(Role::kName, title) + "\n";
}

}  // namespace titan::cli
