#include "cli/kit/table.h"

#include <gtest/gtest.h>

namespace titan::cli {
namespace {

TEST(Table, AlignsColumnsWithTwoBlanksAndNoTrailingOnes) {
  Table table({{"step", Align::kRight}, {"name"}, {}});
  table.row({"1", "short", "remark"});
  table.row({"12345", "much longer"});
  EXPECT_EQ(table.render({}),
            " step  name\n"
            "    1  short        remark\n"
            "12345  much longer\n");
}

TEST(Table, MeasuresWidthInColumnsAndPaintsOutsideThePadding) {
  Table table({{}, {}});
  table.row({{"张量", Role::kName}, "a"});
  table.row({"x", "b"});
  EXPECT_EQ(table.render({true}), "\x1b[1m张量\x1b[0m  a\nx     b\n");
}

TEST(Table, PrintsNoHeaderWithoutTitlesAndIndents) {
  Table table({{}, {}});
  EXPECT_TRUE(table.empty());
  table.row({"a", "b"});
  EXPECT_EQ(table.render({}, "  "), "  a  b\n");
}

}  // namespace
}  // namespace titan::cli
