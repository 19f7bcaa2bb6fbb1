#include "libtrain/job/schedule/schedule_csv.h"

#include <gtest/gtest.h>

#include "libtrain/job/schedule/schedule_simulator.h"

namespace titan::train::schedule_csv_test {
namespace {

TEST(ScheduleCsv, ReadsWhatItPrints) {
  for (const recipe::ScheduleFacts& facts : recipe::schedules()) {
    const ScheduleTable table = make_schedule(facts.kind, {2, facts.least_chunks, 4}).value();
    EXPECT_EQ(parse_schedule_csv(to_csv(table))->table, table) << facts.name;
  }
}

// The row of torchtitan's documentation, with the idle slots of its files and a spreadsheet's line ends.
TEST(ScheduleCsv, PassesOverIdleSlotsAndSpaces) {
  const auto table = parse_schedule_csv("0F0, 0F1,,2I0,2W0,\r\n,1F0,1B0\r\n\r\n");
  ASSERT_TRUE(table.ok()) << table.status().to_string();
  EXPECT_EQ(to_csv(table->table), "0F0,0F1,2I0,2W0\n1F0,1B0\n");
  EXPECT_EQ(table->where(0, 2), "line 1, cell 4 (2I0)");
  EXPECT_EQ(table->where(1, 0), "line 2, cell 2 (1F0)");
}

TEST(ScheduleCsv, RefusesByLineAndCell) {
  const struct {
    const char* text;
    const char* message;
    const char* hint;
  } cases[] = {
      {"", "no actions", "such as 2F0"},
      {"\n\n", "no actions", "such as 2F0"},
      {"0F0,0B0\n1F0,1F", "line 2, cell 2: `1F` is no action", "such as 2F0"},
      {"0F0,0B0x", "line 1, cell 2: `0B0x` is no action", "such as 2F0"},
      {"0F0,,F1", "line 1, cell 3: `F1` is no action", "such as 2F0"},
      {"0X0", "line 1, cell 1: `0X0` is no action", "such as 2F0"},
      {"-1F0", "line 1, cell 1: `-1F0` is no action", "such as 2F0"},
      {"99999999999F0", "line 1, cell 1: `99999999999F0` is no action", "such as 2F0"},
      {"0F0,0SEND_F0", "line 1, cell 2: `0SEND_F0` is no action", "leave out transfers"},
      {"0UNSHARD,0F0", "line 1, cell 1: `0UNSHARD` is no action", "leave out transfers"},
      {"(0F0;1B0)OVERLAP_F_B", "line 1, cell 1: `(0F0;1B0)OVERLAP_F_B` is no action", "no overlapped cells"},
  };
  for (const auto& c : cases) {
    const auto table = parse_schedule_csv(c.text);
    ASSERT_FALSE(table.ok()) << c.text;
    EXPECT_NE(table.status().message.find(c.message), std::string::npos) << table.status().to_string();
    EXPECT_NE(table.status().hint.find(c.hint), std::string::npos) << table.status().to_string();
  }
}

TEST(ScheduleCsv, KeepsAnEmptyRowBetweenOthersAsARankWithoutWork) {
  EXPECT_EQ(parse_schedule_csv("0F0,0B0\n\n1F0,1B0\n")->table.size(), 3U);
}

}  // namespace
}  // namespace titan::train::schedule_csv_test
