#include "cli/plot/svg_plot.h"

#include <algorithm>
#include <cstdlib>

#include <gtest/gtest.h>

namespace titan::cli::svg_plot_test {
namespace {

recipe::Plot plot_of(const std::string& name, std::size_t restarts) {
  recipe::RunCurves run;
  run.name = name;
  run.first_step = 1;
  run.last_step = 100;
  run.curves[0].points = {{1, 5}, {100, 2}};
  for (std::size_t i = 0; i < restarts; ++i) run.restarts.push_back({10 * i, 10.0 * i, "2x2 -> 4x1 (DP x PP)"});
  return recipe::plan_plot({run}, {.y = {recipe::Quantity::kLoss}});
}

/// How far down the text stands that has `part` in it.
double height_of(const std::string& svg, const std::string& part) {
  const std::size_t at = svg.find(part), y = svg.rfind(" y=\"", at);
  EXPECT_NE(at, std::string::npos) << part;
  return std::atof(svg.c_str() + y + 4);
}

TEST(SvgPlot, StandsInItsOrder) {
  const std::string svg = svg_plot(plot_of("novel", 1));
  double above = 0;
  for (const char* part : {">novel<", "loss (nats per token)", ">step<", "resumed after step"}) {
    EXPECT_GT(height_of(svg, part), above + 10) << part;
    above = height_of(svg, part);
  }
}

/// Nothing runs out of the picture on the right: names and lists get lines of their own.
TEST(SvgPlot, LongTextsAreFolded) {
  const std::string plain = svg_plot(plot_of("novel", 1)), longer = svg_plot(plot_of(std::string(110, 'x'), 6));
  const auto texts = [](const std::string& svg) {
    std::size_t count = 0;
    for (std::size_t at = svg.find("<text"); at != std::string::npos; at = svg.find("<text", at + 1)) ++count;
    return count;
  };
  EXPECT_EQ(texts(longer), texts(plain) + 2) << "a line of facts, and a second one of starts";
}

TEST(SvgPlot, TextIsNoMarkup) { EXPECT_EQ(xml_text("a<b>&\"\x1b\xff"), "a&lt;b&gt;&amp;&quot;\xef\xbf\xbd"); }

}  // namespace
}  // namespace titan::cli::svg_plot_test
