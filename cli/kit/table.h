#pragma once
// Tables of text without lines between cells. Columns are two spaces apart; nothing is truncated. If a table is wider
// than the palette's width, each row takes several lines: columns that do not fit go to the next line, indented, and a
// left-aligned last column is wrapped. Pure.
#include <string>
#include <vector>

#include "cli/kit/terminal.h"

namespace titan::cli {

enum class Align { kLeft, kRight };

struct Column {
  std::string title;
  Align align = Align::kLeft;
  bool spare = false;  ///< left out if the table is too wide for the terminal, and fits without such columns
};

/// Text of a cell, already escaped (text.h).
struct Cell {
  Cell(std::string text, Role role = Role::kPlain) : text(std::move(text)), role(role) {}  // NOLINT: implicit by design
  Cell(const char* text, Role role = Role::kPlain) : text(text), role(role) {}             // NOLINT: implicit by design
  std::string text;
  Role role;
};

class Table {
 public:
  explicit Table(std::vector<Column> columns) : columns_(std::move(columns)) {}
  /// Adds a row of at most as many cells as there are columns.
  void row(std::vector<Cell> cells) { rows_.push_back(std::move(cells)); }
  bool empty() const { return rows_.empty(); }
  /// A header line, if a column has a title, and the rows. Each line begins with `indent` and ends with a newline,
  /// without blanks before it.
  std::string render(const Palette& palette, const std::string& indent = "") const;

 private:
  using Line = std::vector<Cell>;
  /// The columns [first, last), which share a line with this indent.
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

/// A table of names and values, a pair per line.
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
