#include "recipe/history/run_metrics.h"

#include <cstddef>
#include <random>

#include <gtest/gtest.h>

#include "ckpt/base/fs_posix.h"
#include "tests/support/scratch_dir.h"

namespace titan::recipe::run_metrics_test {
namespace {

std::string step(std::uint64_t number) {
  return R"({"schema":"titan.metrics/1","step":)" + std::to_string(number) + R"(,"attempt":1,"loss":1})" + "\n";
}

std::vector<std::uint64_t> steps_of(const std::string& path, MetricsProblems* problems = nullptr) {
  std::vector<std::uint64_t> steps;
  const auto read = read_metrics(ckpt::posix_fs(), path, [&](const MetricsLine& line) { steps.push_back(line.step); });
  EXPECT_TRUE(read.ok()) << read.status().to_string();
  if (problems != nullptr && read.ok()) *problems = *read;
  return steps;
}

class RunMetrics : public ::testing::Test {
 protected:
  train::ScratchDir dir;
};

TEST_F(RunMetrics, LinesAcrossThePiecesOfAFile) {
  std::string text;
  std::uint64_t count = 0;
  while (text.size() < (std::size_t{5} << 19)) text += step(++count);  // more than two pieces
  dir.write("metrics.jsonl", text);
  MetricsProblems problems;
  const auto steps = steps_of(dir / "metrics.jsonl", &problems);
  ASSERT_EQ(steps.size(), count);
  for (std::size_t i = 0; i < steps.size(); ++i) ASSERT_EQ(steps[i], i + 1);
  EXPECT_EQ(problems.lines, count);
  EXPECT_TRUE(problems.notes("x").empty());
}

TEST_F(RunMetrics, EveryCutOfTheLastLineIsTolerated) {
  const std::string last = step(3), before = step(1) + step(2);
  for (std::size_t size = 0; size <= last.size(); ++size) {
    dir.write("m", before + last.substr(0, size));
    MetricsProblems problems;
    const auto steps = steps_of(dir / "m", &problems);
    // Without its newline it is whole already.
    EXPECT_EQ(steps.size(), size + 1 >= last.size() ? 3u : 2u) << size;
    EXPECT_EQ(problems.torn_end, size > 0 && size + 1 < last.size()) << size;
    EXPECT_EQ(problems.unreadable, 0u);
  }
}

TEST_F(RunMetrics, UnreadableLinesAreCounted) {
  dir.write("m", step(1) + "\n" + std::string(1, '\0') + "\n" + std::string(std::size_t{3} << 20, 'x') + "\n" +
                     step(2) + step(2));
  MetricsProblems problems;
  EXPECT_EQ(steps_of(dir / "m", &problems), (std::vector<std::uint64_t>{1, 2}));
  EXPECT_EQ(problems.unreadable, 3u);
  EXPECT_EQ(problems.first_unreadable, 2u);
  EXPECT_EQ(problems.out_of_order, 1u);
  EXPECT_EQ(problems.notes("m").size(), 2u);
}

/// The end of a line that is too long lies at the beginning of a piece, and looks like a line.
TEST_F(RunMetrics, TheEndOfALongLineIsNoLine) {
  dir.write("m", std::string(std::size_t{2} << 20, 'x') + step(9) + step(1));
  EXPECT_EQ(steps_of(dir / "m"), (std::vector<std::uint64_t>{1}));
}

TEST_F(RunMetrics, AnEmptyFileHasNothing) {
  dir.write("m", "");
  EXPECT_TRUE(steps_of(dir / "m").empty());
}

TEST_F(RunMetrics, OddBytesAreSurvived) {
  std::mt19937 random(5);
  const std::string good =
      step(1) + step(2) + R"({"step":2,"event":"resume","dp":1,"pp":1,"attempt":2})" + "\n" + step(3);
  for (int round = 0; round < 400; ++round) {
    std::string bad = good;
    for (int change = 0; change < 3; ++change) bad[random() % bad.size()] = static_cast<char>(random());
    dir.write("m", bad);
    EXPECT_LE(steps_of(dir / "m").size(), 8u);
  }
}

TEST_F(RunMetrics, FindsTheFileOfWhatWasTyped) {
  auto& fs = ckpt::posix_fs();
  dir.write("run/metrics.jsonl", step(1));
  dir.write("run/checkpoint/x", "");
  EXPECT_EQ(*find_metrics(fs, dir / "run"), dir / "run/metrics.jsonl");
  EXPECT_EQ(*find_metrics(fs, dir / "run/metrics.jsonl"), dir / "run/metrics.jsonl");
  EXPECT_TRUE(find_metrics(fs, dir / "run/checkpoint").ok());
  EXPECT_EQ(find_metrics(fs, dir / "none").status().code, ckpt::Code::kNotFound);
  const auto at = find_metrics(fs, "run@12");
  EXPECT_NE(at.status().hint.find("run"), std::string::npos);
  dir.write("other/x", "");
  EXPECT_FALSE(find_metrics(fs, dir / "other").status().hint.empty());
}

}  // namespace
}  // namespace titan::recipe::run_metrics_test
