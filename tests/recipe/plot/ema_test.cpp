#include "recipe/plot/ema.h"

#include <cmath>

#include <gtest/gtest.h>

namespace titan::recipe::ema_test {
namespace {

TEST(Ema, AgreesWithTheFormula) {
  Ema ema(0.5);
  EXPECT_DOUBLE_EQ(ema.add(4), 4);  // (0.5 * 4) / 0.5
  EXPECT_DOUBLE_EQ(ema.add(8), (0.25 * 4 + 0.5 * 8) / 0.75);
  EXPECT_DOUBLE_EQ(ema.add(0), (0.125 * 4 + 0.25 * 8) / 0.875);
}

TEST(Ema, AConstantStaysItself) {
  Ema ema(0.99);
  for (int i = 0; i < 1000; ++i) EXPECT_NEAR(ema.add(3), 3, 1e-9);
}

TEST(Ema, WithoutWeightItIsTheValue) {
  Ema ema(0);
  EXPECT_EQ(ema.add(1), 1);
  EXPECT_EQ(ema.add(7), 7);
}

TEST(Ema, WhatIsNotFiniteChangesNothing) {
  Ema with(0.9), without(0.9);
  with.add(1);
  EXPECT_TRUE(std::isnan(with.add(NAN)));
  EXPECT_EQ(with.add(INFINITY), INFINITY);
  without.add(1);
  EXPECT_DOUBLE_EQ(with.add(5), without.add(5));
}

}  // namespace
}  // namespace titan::recipe::ema_test
