#include "cli/kit/table.h"

#include <gtest/gtest.h>

namespace titan::cli::table_test {
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

TEST(Table, FoldsToTheTerminal) {
  Table table({{"name"}, {"first", Align::kRight}, {"second", Align::kRight}, {}});
  table.row({"a-long-name-of-a-tensor", "1", "22", "words that go on and on and on"});
  table.row({"b", "333", "4", ""});
  EXPECT_EQ(table.render({false, 80}),
            "name                     first  second\n"
            "a-long-name-of-a-tensor      1      22  words that go on and on and on\n"
            "b                          333       4\n");
  EXPECT_EQ(table.render({false, 64}),
            "name                     first  second\n"
            "a-long-name-of-a-tensor      1      22  words that go on and on\n"
            "                                        and on\n"
            "b                          333       4\n")
      << "words hang where a third of the line is left for them";
  EXPECT_EQ(table.render({false, 32}, " "),
            " name                     first\n"
            "     second\n"
            " a-long-name-of-a-tensor      1\n"
            "         22  words that go on\n"
            "             and on and on\n"
            " b                          333\n"
            "          4\n");
}

TEST(Table, LeavesASpareColumnOutWhereThatKeepsRowsInOneLine) {
  Table table({{"name"}, {.title = "digest", .spare = true}, {"size", Align::kRight}});
  table.row({"a-name", "0123456789", "12"});
  table.row({"b"});
  const std::string whole =
      "name    digest      size\n"
      "a-name  0123456789    12\n"
      "b\n";
  EXPECT_EQ(table.render({}), whole);
  EXPECT_EQ(table.render({false, 24}), whole);
  EXPECT_EQ(table.render({false, 23}),
            "name    size\n"
            "a-name    12\n"
            "b\n");
  EXPECT_EQ(table.render({false, 10}).substr(0, 31), "name\n    digest\n    size\na-name");
}

}  // namespace
}  // namespace titan::cli::table_test
