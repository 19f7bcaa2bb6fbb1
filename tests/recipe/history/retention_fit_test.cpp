#include "recipe/history/retention_fit.h"

#include <gtest/gtest.h>

namespace titan::recipe::retention_fit_test {
namespace {

/// Steps 50, 40, .. 10, whole, newest first.
ckpt::RunScan five() {
  ckpt::RunScan scan;
  for (std::uint64_t step = 50; step > 0; step -= 10) {
    ckpt::StepEntry& entry = scan.steps.emplace_back();
    entry.step = step;
    entry.full = true;
  }
  return scan;
}
const std::vector<std::uint64_t> kTen(5, 10);

TEST(RetentionFit, KeepsWhatFitsBesideTheNextSave) {
  const RetentionFit fit = fit_retention(five(), kTen, 0, 10, 45);
  EXPECT_EQ(fit.keep_last, 3u);
  EXPECT_EQ(fit.most_bytes, 40u);
  EXPECT_EQ(fit.steps_to_delete, 2u);
  EXPECT_EQ(fit.bytes_to_delete, 20u);
  EXPECT_EQ(fit_retention(five(), kTen, 0, 10, 40).keep_last, 3u);
  EXPECT_EQ(fit_retention(five(), kTen, 0, 10, 39).keep_last, 2u);
  EXPECT_EQ(fit_retention(five(), kTen, 0, 10, 1000).steps_to_delete, 0u);
}

TEST(RetentionFit, WhatNoRuleDeletesTakesItsSpace) {
  ckpt::RunScan scan = five();
  scan.steps[1].pinned = true;
  scan.steps[2].full = false;
  scan.steps[3].validity = ckpt::corrupt("x");
  const RetentionFit fit = fit_retention(scan, kTen, 5, 10, 80);
  EXPECT_EQ(fit.fixed_bytes, 35u);
  EXPECT_EQ(fit.keep_last, 3u);
  EXPECT_EQ(fit.least_budget, 55u);
  EXPECT_LE(fit.most_bytes, 80u);
}

TEST(RetentionFit, ABudgetThatIsTooSmallIsSaid) {
  const RetentionFit fit = fit_retention(five(), kTen, 0, 10, 19);
  EXPECT_EQ(fit.keep_last, 0u);
  EXPECT_EQ(fit.least_budget, 20u);
  EXPECT_EQ(fit.steps_to_delete, 0u);
  EXPECT_EQ(fit_retention(five(), kTen, 0, 10, 20).keep_last, 1u);
}

TEST(RetentionFit, WithoutSteps) {
  EXPECT_EQ(fit_retention({}, {}, 0, 10, 100).keep_last, 9u);
  EXPECT_EQ(fit_retention({}, {}, 0, 0, 100).keep_last, 0u);
}

}  // namespace
}  // namespace titan::recipe::retention_fit_test
