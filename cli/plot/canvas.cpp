#include "cli/plot/canvas.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdlib>

namespace titan::cli {
namespace {

constexpr std::array kTerminalColors = {"36", "33", "35", "32", "34", "31"};
constexpr std::array kMarks = {'*', '+', 'x', '#', '@', '%', '=', '&'};

/// The bit of each dot of a braille character in its code point U+2800 + bits, by column and row (row 0: top).
constexpr unsigned char kBit[2][4] = {{0x01, 0x02, 0x04, 0x40}, {0x08, 0x10, 0x20, 0x80}};

std::string braille(unsigned char dots) {
  const unsigned code = 0x2800u + dots;
  return {static_cast<char>(0xe0 | code >> 12), static_cast<char>(0x80 | (code >> 6 & 0x3f)),
          static_cast<char>(0x80 | (code & 0x3f))};
}

long place(double share, std::size_t cells) {
  return std::lround(std::clamp(share, -1.0, 2.0) * static_cast<double>(cells - 1));
}

}  // namespace

std::string run_color(std::size_t run, bool faint) {
  return (faint ? "2;" : "") + std::string(kTerminalColors[run % kTerminalColors.size()]);
}

std::string paint_run(const Palette& palette, std::size_t run, std::string_view text) {
  return palette.on ? "\x1b[" + run_color(run, false) + "m" + std::string(text) + "\x1b[0m" : std::string(text);
}

char run_mark(std::size_t run) { return kMarks[run % kMarks.size()]; }

Canvas::Canvas(std::size_t columns, std::size_t rows, bool dots)
    : columns_(std::max<std::size_t>(columns, 2)), rows_(std::max<std::size_t>(rows, 2)), dots_(dots) {
  cells_.resize(columns_ * rows_);
}

std::size_t Canvas::row_of(double y) const {
  const std::size_t high = dots_ ? 4 : 1;
  const long row = place(1 - y, rows_ * high) / static_cast<long>(high);
  return static_cast<std::size_t>(std::clamp<long>(row, 0, static_cast<long>(rows_) - 1));
}

std::size_t Canvas::column_of(double x) const {
  const std::size_t wide = dots_ ? 2 : 1;
  const long column = place(x, columns_ * wide) / static_cast<long>(wide);
  return static_cast<std::size_t>(std::clamp<long>(column, 0, static_cast<long>(columns_) - 1));
}

void Canvas::set(long x, long y, const Ink& ink) {
  const long wide = dots_ ? 2 : 1, high = dots_ ? 4 : 1;
  if (x < 0 || y < 0 || x >= wide * static_cast<long>(columns_) || y >= high * static_cast<long>(rows_)) return;
  Cell& cell = cells_[static_cast<std::size_t>(y / high) * columns_ + static_cast<std::size_t>(x / wide)];
  cell.dots = static_cast<unsigned char>(cell.dots | kBit[x % wide][y % high]);
  cell.plain = ink.plain;
  cell.ink = ink;
}

void Canvas::line(double x0, double y0, double x1, double y1, const Ink& ink) {
  const std::size_t wide = columns_ * (dots_ ? 2 : 1), high = rows_ * (dots_ ? 4 : 1);
  long x = place(x0, wide), y = place(1 - y0, high);
  const long last_x = place(x1, wide), last_y = place(1 - y1, high);
  // Bresenham's line.
  const long dx = std::labs(last_x - x), dy = -std::labs(last_y - y), step_x = x < last_x ? 1 : -1,
             step_y = y < last_y ? 1 : -1;
  for (long error = dx + dy;;) {
    set(x, y, ink);
    if (x == last_x && y == last_y) return;
    const long twice = 2 * error;
    if (twice >= dy) {
      error += dy;
      x += step_x;
    }
    if (twice <= dx) {
      error += dx;
      y += step_y;
    }
  }
}

void Canvas::sign(double x, double y, const char* text, const Ink& ink) {
  Cell& cell = cells_[row_of(y) * columns_ + column_of(x)];
  cell.sign = text;
  cell.ink = ink;
}

void Canvas::rule(double x, const char* text) {
  for (std::size_t row = 0; row < rows_; ++row) cells_[row * columns_ + column_of(x)].rule = text;
}

std::string Canvas::text_of(const Cell& cell) const {
  if (!cell.sign.empty()) return cell.sign;
  if (cell.dots != 0) return dots_ ? braille(cell.dots) : std::string(1, cell.plain);
  return cell.rule.empty() ? " " : cell.rule;
}

std::vector<std::string> Canvas::rows(const Palette& palette) const {
  std::vector<std::string> rows;
  for (std::size_t row = 0; row < rows_; ++row) {
    std::string text, color;
    std::size_t last = columns_;
    while (last > 0 && text_of(cells_[row * columns_ + last - 1]) == " ") --last;
    for (std::size_t column = 0; column < last; ++column) {
      const Cell& cell = cells_[row * columns_ + column];
      const std::string shown = text_of(cell);
      std::string wanted;
      if (palette.on && shown != " ")
        wanted = cell.dots != 0 || !cell.sign.empty() ? run_color(cell.ink.run, cell.ink.faint) : "2";
      // A blank has no colour of its own, so it does not end an escape sequence.
      if (shown != " " && wanted != color) {
        if (!color.empty()) text += "\x1b[0m";
        if (!wanted.empty()) text += "\x1b[" + wanted + "m";
        color = wanted;
      }
      text += shown;
    }
    if (!color.empty()) text += "\x1b[0m";
    rows.push_back(std::move(text));
  }
  return rows;
}

}  // namespace titan::cli
