#include "converters/dcp/agreement.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "ckpt/plan/lr_settings.h"

namespace titan::convert::dcp::agreement_test {
namespace {

using ckpt::LrSettings;
using ckpt::Settings;

ckpt::Status agree(const LrSettings& curve, const Settings& given) {
  return check_agreement("step", {}, curve, ckpt::with_rows({}, given), true);
}

const Settings kBase{{"lr_scheduler.warmup_steps", "0"}, {"optimizer.lr", "1e-3"}, {"training.steps", "20"}};
Settings with(const Settings& changes) { return ckpt::with_rows(kBase, changes); }

TEST(DcpAgreement, OneCurveMayBeSaidInSeveralWays) {
  const LrSettings whole{.peak = 1e-3, .total_steps = 20};
  EXPECT_TRUE(agree(whole, with({})).ok());
  EXPECT_TRUE(agree(whole, with({{"lr_scheduler.decay_ratio", "1.0"}})).ok());
  const LrSettings flat{.peak = 1e-3, .total_steps = 20, .decay_ratio = 0.0};
  EXPECT_TRUE(agree(flat, with({{"lr_scheduler.decay_ratio", "0"},
                                {"lr_scheduler.decay_type", "'cosine'"},
                                {"lr_scheduler.min_lr_factor", "0.5"}}))
                  .ok());
  const LrSettings rising{.peak = 1e-3, .warmup_steps = 20, .total_steps = 20};
  EXPECT_TRUE(agree(rising, with({{"lr_scheduler.warmup_steps", "200"}})).ok());
  EXPECT_TRUE(agree(whole, with({{"lr_scheduler.total_steps", "20"}, {"training.steps", "30"}})).ok());
}

TEST(DcpAgreement, WhatAConfigurationLeavesOutIsTorchtitansDefault) {
  const LrSettings half{.peak = 1e-3, .total_steps = 20, .decay_ratio = 0.5};
  EXPECT_EQ(agree(half, with({})).message, "step: lr_scheduler.decay_ratio is 0.5, the configuration leaves it out");
  EXPECT_EQ(agree({.peak = 1e-3, .total_steps = 20}, {{"training.steps", "20"}}).message,
            "step: lr_scheduler.warmup_steps is 0, the configuration leaves it at torchtitan's 200; optimizer.lr is "
            "0.001, the configuration leaves it at torchtitan's 0.0008");
  EXPECT_EQ(agree(half, with({{"lr_scheduler.decay_ratio", "0.4"}})).message,
            "step: lr_scheduler.decay_ratio is 0.5, the configuration says 0.4");
}

TEST(DcpAgreement, AConfigurationWithoutAnyKeyOfTheCurveSaysNothingOfIt) {
  const LrSettings half{.peak = 1e-3, .total_steps = 20, .decay_ratio = 0.5};
  EXPECT_TRUE(agree(half, {{"model.n_heads", "4"}, {"optimizer.beta1", "0.9"}}).ok());
  EXPECT_TRUE(check_agreement("step", {}, half, with({}), false).ok()) << "it is to be replaced";
}

}  // namespace
}  // namespace titan::convert::dcp::agreement_test
