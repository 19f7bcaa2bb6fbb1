#pragma once
// A grid of character cells to draw lines and points into: braille dots, or one ASCII character per cell. Pure.
#include <cstddef>
#include <string>
#include <vector>

#include "cli/kit/terminal.h"

namespace titan::cli {

/// The look of something drawn: its run's colour, its strength, and its character on a canvas without dots.
struct Ink {
  std::size_t run = 0;
  bool faint = false;
  char plain = '*';
};

/// The numbers of a run's colour in an escape sequence.
std::string run_color(std::size_t run, bool faint);
/// `text` in the colour of a run, or as it is.
std::string paint_run(const Palette& palette, std::size_t run, std::string_view text);
/// The character of a run on a canvas without dots.
char run_mark(std::size_t run);

class Canvas {
 public:
  /// `dots`: braille, 2 x 4 dots a cell; else one character a cell.
  Canvas(std::size_t columns, std::size_t rows, bool dots);

  /// A line between two points: (0, 0) is the lower left corner, (1, 1) the upper right. Parts outside are clipped.
  void line(double x0, double y0, double x1, double y1, const Ink& ink);
  void dot(double x, double y, const Ink& ink) { line(x, y, x, y, ink); }
  /// One character on top of everything drawn so far.
  void sign(double x, double y, const char* text, const Ink& ink);
  /// A vertical line of `text`, below everything else.
  void rule(double x, const char* text);
  /// Rows from the top, painted, without trailing blanks.
  std::vector<std::string> rows(const Palette& palette) const;
  /// The row from the top that `y` falls into, and the column of `x`.
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
