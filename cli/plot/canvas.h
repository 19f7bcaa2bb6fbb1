#pragma once
// A grid of character cells into which lines and points are drawn, as braille dots or as ASCII characters. Pure.
#include <cstddef>
#include <string>
#include <vector>

#include "cli/kit/terminal.h"

namespace titan::cli {

/// How a line or point is drawn.
struct Ink {
  std::size_t run = 0;  ///< index of the run, which decides the colour
  bool faint = false;   ///< drawn in a weaker colour
  char plain = '*';     ///< character on a canvas without dots
};

/// The parameters of the escape sequence for a run's colour: "36", or "2;36" if `faint`. Colours repeat after 6 runs.
std::string run_color(std::size_t run, bool faint);
/// `text` in the colour of a run; unchanged if colours are off.
std::string paint_run(const Palette& palette, std::size_t run, std::string_view text);
/// The character of a run on a canvas without dots. Characters repeat after 8 runs.
char run_mark(std::size_t run);

/// The grid. A position is a pair (x, y): (0, 0) is the lower left corner, (1, 1) the upper right.
class Canvas {
 public:
  /// `dots`: braille characters, 2 x 4 dots per cell; else one character per cell. At least 2 columns and 2 rows.
  Canvas(std::size_t columns, std::size_t rows, bool dots);

  /// Draws a line between two positions. Parts outside the grid are not drawn.
  void line(double x0, double y0, double x1, double y1, const Ink& ink);
  void dot(double x, double y, const Ink& ink) { line(x, y, x, y, ink); }
  /// Puts the character `text` into a cell, on top of everything drawn so far.
  void sign(double x, double y, const char* text, const Ink& ink);
  /// Draws a vertical line of the character `text`; lines, dots and signs cover it.
  void rule(double x, const char* text);
  /// The rows as text, from top to bottom, with colours and without trailing blanks.
  std::vector<std::string> rows(const Palette& palette) const;
  /// The row of cells (0: top) that contains `y`, and the column (0: left) that contains `x`.
  std::size_t row_of(double y) const;
  std::size_t column_of(double x) const;

 private:
  struct Cell {
    unsigned char dots = 0;
    char plain = 0;
    std::string sign, rule;
    Ink ink;
  };
  void set(long x, long y, const Ink& ink);
  std::string text_of(const Cell& cell) const;

  std::size_t columns_, rows_;
  bool dots_;
  std::vector<Cell> cells_;
};

}  // namespace titan::cli
