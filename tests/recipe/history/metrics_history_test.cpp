#include "recipe/history/metrics_history.h"

#include <gtest/gtest.h>

namespace titan::recipe::metrics_history_test {
namespace {

std::string step(std::uint64_t number, int attempt) {
  return R"({"schema":"titan.metrics/1","step":)" + std::to_string(number) + R"(,"attempt":)" +
         std::to_string(attempt) + R"(,"loss":1})";
}
std::string resume(std::uint64_t number, int attempt) {
  return R"({"schema":"titan.metrics/1","step":)" + std::to_string(number) + R"(,"attempt":)" +
         std::to_string(attempt) + R"(,"event":"resume"})";
}

/// The lines that count: 1, those done again: 0, out of order: x.
std::string judged(const std::vector<std::string>& lines) {
  HistoryScan scan;
  for (const std::string& line : lines) scan.line(line);
  HistoryFilter filter(scan.cuts());
  std::string marks;
  for (std::size_t i = 0; i < lines.size(); ++i) {
    switch (filter.judge(i, *read_metrics_line(lines[i]))) {
      case HistoryFilter::Counts::kYes: marks += '1'; break;
      case HistoryFilter::Counts::kDoneAgain: marks += '0'; break;
      case HistoryFilter::Counts::kOutOfOrder: marks += 'x'; break;
    }
  }
  return marks;
}

TEST(MetricsHistory, WithoutGoingBackAllCount) {
  EXPECT_EQ(judged({step(1, 1), step(2, 1), resume(2, 2), step(3, 2)}), "1111");
}

TEST(MetricsHistory, WhatALaterStartDoesAgainCountsOnce) {
  EXPECT_EQ(judged({step(1, 1), step(2, 1), step(3, 1), resume(1, 2), step(2, 2), step(3, 2)}), "100111");
  // Without its event the first step says it.
  EXPECT_EQ(judged({step(1, 1), step(2, 1), step(3, 1), step(2, 2), step(3, 2)}), "10011");
  // A start that has done nothing yet still makes them obsolete.
  EXPECT_EQ(judged({step(1, 1), step(2, 1), resume(1, 2)}), "101");
}

TEST(MetricsHistory, GoingBackTwice) {
  EXPECT_EQ(judged({step(1, 1), step(2, 1), step(3, 1), resume(2, 2), step(3, 2), resume(1, 3), step(2, 3)}),
            "1000011");
  EXPECT_EQ(
      judged({step(1, 1), step(2, 1), step(3, 1), resume(1, 2), step(2, 2), step(3, 2), resume(2, 3), step(3, 3)}),
      "10011011");
}

TEST(MetricsHistory, TheSameStartDoesNotGoBack) {
  EXPECT_EQ(judged({step(1, 1), step(2, 1), step(2, 1), step(1, 1), step(3, 1)}), "11xx1");
}

TEST(MetricsHistory, LinesOfOtherWritersAreRead) {
  EXPECT_EQ(judged({R"({"loss":1,"step":1})", R"({"loss":1,"step":2})", R"({"loss":1,"step":2})"}), "11x");
}

TEST(MetricsHistory, FewCutsAreKept) {
  HistoryScan scan;
  for (int attempt = 1; attempt < 1000; ++attempt)
    for (std::uint64_t number = 1; number < 4; ++number) scan.line(step(number, attempt));
  EXPECT_EQ(scan.cuts().size(), 1u);
  EXPECT_EQ(scan.lines(), 2997u);
}

}  // namespace
}  // namespace titan::recipe::metrics_history_test
