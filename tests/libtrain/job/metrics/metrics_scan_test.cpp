#include "libtrain/job/metrics/metrics_scan.h"

#include <gtest/gtest.h>

#include "recipe/history/metrics_line.h"

namespace titan::train::metrics_scan_test {
namespace {

std::string line(std::uint64_t step, const std::string& rest = "\"loss\":1") {
  return std::string(recipe::kMetricsLineStart) + std::to_string(step) + "," + rest + "}\n";
}

TEST(MetricsScan, CutsBeforeTheFirstLargerStep) {
  const std::string torn = line(4).substr(0, 20), noise = "not ours\n", zeros(40, '\0');
  const struct {
    const char* what;
    std::string kept, whole, torn;  // the file is their concatenation
    std::uint64_t step;
  } cases[] = {
      {"empty", "", "", "", 5},
      {"all kept", line(1) + line(2), "", "", 2},
      {"fresh start", "", line(1) + line(2), "", 0},
      {"cut in the middle", line(1) + line(2), line(3) + line(4), "", 2},
      {"gap before the cut", line(1), line(10), "", 5},
      {"events of the same step stay", line(2) + line(2, "\"event\":\"save_commit\""),
       line(3, "\"event\":\"save_begin\""), "", 2},
      {"torn last line", line(1), "", torn, 9},
      {"torn line after a cut", line(1), line(2), torn, 1},
      {"zeros at the end", line(1), "", zeros, 9},
      {"zeros in a whole line", line(1), zeros + "\n", "", 9},
      {"zeros within a line of ours", line(1), line(2, "\"loss\":" + std::string(3, '\0') + "1"), "", 9},
      {"a line cut off before a newline", line(1), line(2).substr(0, 40) + "\n", "", 9},
      {"only noise", "", noise, "", 9},
      {"noise between stays", noise + line(1) + noise + line(2), noise, "", 9},
      {"a smaller step behind a larger one goes with it", line(1), line(3) + line(2), "", 2},
      {"number without end", line(1), std::string(recipe::kMetricsLineStart) + "1}\n", "", 9},
      {"number too large", line(1), line(1).replace(recipe::kMetricsLineStart.size(), 1, "99999999999999999999999"), "",
       9},
  };
  for (const auto& c : cases) {
    const std::string file = c.kept + c.whole + c.torn;
    for (const std::size_t piece : {std::size_t{1}, std::size_t{7}, std::size_t{1000}}) {
      MetricsScan scan(c.step);
      for (std::size_t at = 0; at < file.size(); at += piece) scan.feed(std::string_view(file).substr(at, piece));
      EXPECT_EQ(scan.cut(), c.kept.size()) << c.what;
      EXPECT_EQ(scan.whole_lines(), c.kept.size() + c.whole.size()) << c.what;
      EXPECT_EQ(scan.size(), file.size()) << c.what;
      EXPECT_EQ(scan.late(), "") << c.what;
    }
  }
}

// A save in the background is done steps later than it began.
TEST(MetricsScan, KeepsLateEventsOfWhatStays) {
  const std::string commit = line(2, "\"attempt\":1,\"event\":\"save_commit\"");
  const std::string file =
      line(1) + line(2) + line(3) + commit + line(3, "\"attempt\":1,\"event\":\"save_commit\"") + line(4) + line(2);
  MetricsScan scan(2);
  scan.feed(file);
  EXPECT_EQ(scan.cut(), (line(1) + line(2)).size());
  EXPECT_EQ(scan.late(), commit) << "no step twice, nothing of what goes";
}

}  // namespace
}  // namespace titan::train::metrics_scan_test
