#pragma once
// Tables without rules: columns two spaces apart, numbers right-aligned, nothing truncated. Pure. In a table wider than
// the palette's width a row takes several lines: columns that do not fit go below, indented, and a last cell of words
// is wrapped.
#include <string>
#include <vector>

#include "cli/kit/terminal.h"

namespace titan::cli {

enum class Align { kLeft, kRight };

struct Column {
  std::string title;
  Align align = Align::kLeft;
  bool spare = false;  ///< dropped on a terminal if every row then fits on one line; always shown in a pipe
};

/// Text that is already escaped.
struct Cell {
  Cell(std::string text, Role role = Role::kPlain) : text(std::move(text)), role(role) {}  // NOLINT: implicit by design
  Cell(const char* text, Role role = Role::kPlain) : text(text), role(role) {}             // NOLINT: implicit by design
  std::string text;
  Role role;
};

class Table {
 public:
  explicit Table(std::vector<Column> columns) : columns_(std::move(columns)) {}
  /// Takes at most as many cells as there are columns.
  void row(std::vector<Cell> cells) { rows_.push_back(std::move(cells)); }
  bool empty() const { return rows_.empty(); }
  /// Header line (when a column has a title) and rows, each ending in a newline, without trailing blanks.
  std::string render(const Palette& palette, const std::string& indent = "") const;

 private:
  using Line = std::vector<Cell>;
  /// Columns [first, last) of a row, side by side.
  struct Span {
    std::size_t first, last, indent;
  };
  std::size_t line_width(std::size_t indent) const;
  Table without_spare_columns() const;
  std::vector<std::size_t> widths() const;
  std::vector<Span> spans(std::vector<std::size_t>& widths, std::size_t indent, std::size_t width) const;
  std::string side_by_side(const Line& line, const Span& span, const std::vector<std::size_t>& widths,
                           const Palette& palette) const;

  std::vector<Column> columns_;
  std::vector<Line> rows_;
};

/// A list of names and values, one pair per line.
class Facts {
 public:
  void add(const char* name, std::string value) { table_.row({{name, Role::kDim}, std::move(value)}); }
  std::string render(const Palette& palette, const std::string& indent = "") const {
    return table_.render(palette, indent);
  }

 private:
  Table table_{{{}, {}}};
};

/// An empty line followed by `title`.
std::string heading(const Palette& palette, const std::string& title);

}  // namespace titan::cli
