#pragma once
// Tables without lines: two-space gutters, numbers to the right, nothing cut off. Pure.
#include <string>
#include <vector>

#include "cli/kit/terminal.h"

namespace titan::cli {

enum class Align { kLeft, kRight };

struct Column {
  std::string title;
  Align align = Align::kLeft;
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
  /// Takes as many cells as there are columns, or fewer.
  void row(std::vector<Cell> cells) { rows_.push_back(std::move(cells)); }
  bool empty() const { return rows_.empty(); }
  /// Header line (when a column has a title) and rows, each ending in a newline, without trailing blanks.
  std::string render(const Palette& palette, const std::string& indent = "") const;

 private:
  std::vector<Column> columns_;
  std::vector<std::vector<Cell>> rows_;
};

/// Names and values, a line each.
class Facts {
 public:
  void add(const char* name, std::string value) { table_.row({{name, Role::kDim}, std::move(value)}); }
  std::string render(const Palette& palette, const std::string& indent = "") const {
    return table_.render(palette, indent);
  }

 private:
  Table table_{{{}, {}}};
};

/// An empty line and the title of what follows.
std::string heading(const Palette& palette, const std::string& title);

}  // namespace titan::cli
