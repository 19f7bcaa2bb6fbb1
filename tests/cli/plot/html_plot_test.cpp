#include "cli/plot/html_plot.h"

#include <gtest/gtest.h>

namespace titan::cli::html_plot_test {
namespace {

std::string page_of(const std::string& name) {
  recipe::RunCurves run;
  run.name = name;
  run.curves[0].points = {{1, 2.5}, {2, 1.25}};
  return html_plot(recipe::plan_plot({run}, {}));
}

std::size_t count_of(const std::string& text, std::string_view part) {
  std::size_t count = 0;
  for (std::size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) ++count;
  return count;
}

TEST(HtmlPlot, TheDataAreInThePage) {
  const std::string page = page_of("novel");
  EXPECT_NE(page.find(R"("raw":[[1,2.5],[2,1.25]])"), std::string::npos);
  EXPECT_NE(page.find("<title>novel</title>"), std::string::npos);
  EXPECT_EQ(page.find("{{"), std::string::npos) << "a place without its text";
}

TEST(HtmlPlot, ANameIsNoMarkup) {
  const std::string plain = page_of("x"), odd = page_of("</title></script><script>alert(1)</script>");
  for (const char* tag : {"<script", "</script>", "</title>"})
    EXPECT_EQ(count_of(odd, tag), count_of(plain, tag)) << tag;
}

TEST(HtmlPlot, ANameThatNamesAPlaceStaysAName) {
  for (const std::string name : {"{{DATA}}", "{{TITLE}}"}) {
    const std::string page = page_of(name);
    EXPECT_NE(page.find("<title>" + name + "</title>"), std::string::npos);
    EXPECT_NE(page.find("\"name\":\"" + name + "\""), std::string::npos);
  }
}

}  // namespace
}  // namespace titan::cli::html_plot_test
