#include "cli/plot/canvas.h"

#include <gmock/gmock.h>

namespace titan::cli::canvas_test {
namespace {

using testing::ElementsAre;

TEST(Canvas, DotsOfBraille) {
  Canvas canvas(2, 2, true);
  canvas.dot(0, 0, {});
  canvas.dot(1, 1, {});
  EXPECT_THAT(canvas.rows({}), ElementsAre(" ⠈", "⡀"));
  canvas.line(0, 0, 1, 1, {});
  EXPECT_THAT(canvas.rows({}), ElementsAre(" ⡜", "⡜"));
}

TEST(Canvas, CharactersOfOneCell) {
  Canvas canvas(3, 3, false);
  canvas.rule(0.5, ":");
  canvas.line(0, 0, 1, 1, {0, false, '+'});
  canvas.sign(1, 0, "o", {});
  EXPECT_THAT(canvas.rows({}), ElementsAre(" :+", " +", "+:o"));
}

TEST(Canvas, WhatLiesOutsideIsLeftOut) {
  Canvas canvas(4, 3, false);
  canvas.line(-5, -5, 7, 9, {});
  canvas.dot(3, 0.5, {});
  for (const std::string& row : canvas.rows({})) EXPECT_LE(row.size(), 4u);
}

TEST(Canvas, RunsHaveColours) {
  Canvas canvas(3, 2, false);
  canvas.line(0, 0, 1, 0, {1, true, '*'});
  EXPECT_THAT(canvas.rows({.on = true}), ElementsAre("", "\x1b[2;33m***\x1b[0m"));
  EXPECT_EQ(paint_run({.on = true}, 0, "x"), "\x1b[36mx\x1b[0m");
  EXPECT_EQ(paint_run({}, 0, "x"), "x");
  EXPECT_NE(run_mark(0), run_mark(1));
}

}  // namespace
}  // namespace titan::cli::canvas_test
