#include "libtrain/job/metrics/step_line.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

namespace titan::train::step_line_test {
namespace {

StepMetrics metrics(std::uint64_t step, double loss, double grad_norm, double tps) {
  StepMetrics m;
  m.step = step;
  m.loss = loss;
  m.grad_norm = grad_norm;
  m.tps = tps;
  return m;
}

/// With this memory and these FLOPs.
std::string line_of(StepMetrics m, std::optional<double> gib, std::optional<double> tflops, bool color) {
  if (gib) m.memory.resident = static_cast<std::uint64_t>(*gib * (1 << 30));
  m.tflops = tflops;
  return step_line(m, color);
}

ValidationMetrics validation(std::uint64_t step, double loss, double tps) {
  return {.step = step, .loss = loss, .tps = tps};
}

// The expected texts are what Python prints for torchtitan's format strings.
TEST(StepLine, HasTorchtitansWidths) {
  EXPECT_EQ(line_of(metrics(10, 9.94932, 1.5181, 5855.4), 49.66, 339.1, false),
            "step: 10  loss:  9.94932  grad_norm:  1.5181  memory: 49.66GiB  tps: 5,855  tflops: 339.10  mfu: n/a");
  EXPECT_EQ(line_of(metrics(1, 12.0, 123.45678, 999), 1.5, 0.314, false),
            "step:  1  loss: 12.00000  grad_norm: 123.4568  memory:  1.50GiB  tps: 999  tflops: 0.31  mfu: n/a");
  EXPECT_EQ(line_of(metrics(12345, 0.5, 0, 1234567.5), 100, 1234567.891, false),
            "step: 12345  loss:  0.50000  grad_norm:  0.0000  memory: 100.00GiB  tps: 1,234,568  "
            "tflops: 1,234,567.89  mfu: n/a");
}

TEST(StepLine, HasMfuWhereThePeakIsKnown) {
  StepMetrics m = metrics(10, 9.94932, 1.5181, 5855.4);
  m.mfu = 34.2871;
  EXPECT_TRUE(step_line(m, false).ends_with("tflops: n/a  mfu: 34.29%"));
  ValidationMetrics v = validation(20, 3, 10);
  v.memory.resident = 3u << 29;
  EXPECT_EQ(validation_line(v, false), "validate step: 20  loss:  3.0000  memory:  1.50GiB  tps: 10");
}

TEST(StepLine, HasTheMemoryOfAGpuAndItsPart) {
  StepMetrics m = metrics(10, 9.94932, 1.5181, 5855.4);
  m.memory = {.resident = 1u << 30, .tensors = std::uint64_t{53} << 30, .device = std::uint64_t{80} << 30};
  EXPECT_TRUE(step_line(m, false).find("  memory: 53.00GiB(66.25%)  tps:") != std::string::npos);
}

TEST(StepLine, SaysWhatIsUnknownAndNeverMinusNan) {
  const double nan = -std::nan(""), inf = std::numeric_limits<double>::infinity();
  EXPECT_EQ(line_of(metrics(2, nan, inf, nan), std::nullopt, std::nullopt, false),
            "step:  2  loss:      nan  grad_norm:     inf  memory: n/a  tps: n/a  tflops: n/a  mfu: n/a");
}

TEST(StepLine, RoundsHalfToEvenAndGroupsThousands) {
  const std::pair<double, const char*> cases[] = {
      {0.5, "tps: 0  "},       {1.5, "tps: 2  "},          {2.5, "tps: 2  "},
      {999.5, "tps: 1,000  "}, {100000, "tps: 100,000  "}, {1e9, "tps: 1,000,000,000  "},
  };
  for (const auto& [tps, text] : cases) {
    const std::string line = line_of(metrics(1, 1, 1, tps), {}, {}, false);
    EXPECT_NE(line.find(text), std::string::npos) << line;
  }
}

TEST(StepLine, ColoursEachFieldWhenAsked) {
  EXPECT_EQ(line_of(metrics(10, 9.94932, 1.5181, 5855), {}, 339.1, true),
            "\033[31mstep: 10  \033[32mloss:  9.94932  \033[38;2;180;60;0mgrad_norm:  1.5181  "
            "\033[38;2;54;234;195mmemory: n/a  "
            "\033[34mtps: 5,855  \033[36mtflops: 339.10  \033[35mmfu: n/a\033[39m");
  EXPECT_EQ(
      validation_line(validation(20, 3.1234, 10), true),
      "\033[33mvalidate step: 20  \033[32mloss:  3.1234  \033[38;2;54;234;195mmemory: n/a  \033[34mtps: 10\033[39m");
}

TEST(ValidationLine, HasTorchtitansWidths) {
  EXPECT_EQ(validation_line(validation(20, 3.1234, 5855.2), false),
            "validate step: 20  loss:  3.1234  memory: n/a  tps: 5,855");
  EXPECT_EQ(validation_line(validation(5, 12.34567, std::nan("")), false),
            "validate step:  5  loss: 12.3457  memory: n/a  tps: n/a");
}

}  // namespace
}  // namespace titan::train::step_line_test
