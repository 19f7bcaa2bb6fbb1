#include "libtrain/job/forecast/hidden_time.h"

#include <vector>

#include <gtest/gtest.h>

namespace titan::train::hidden_time_test {
namespace {

const std::vector<PartSeconds> kEven{{0.25, 1, 1}, {0.25, 1, 1}, {0.25, 1, 1}, {0.25, 1, 1}};

TEST(HiddenTime, OnePartHidesNothing) {
  const std::vector<PartSeconds> one{{1, 5, 3}};
  EXPECT_DOUBLE_EQ(wait_for_sums(one, 100), 5);
  EXPECT_DOUBLE_EQ(wait_for_weights(one, 2, 100), 3);
}

TEST(HiddenTime, OfALongBackwardOnlyTheFirstLayersPartIsLeft) {
  EXPECT_DOUBLE_EQ(wait_for_sums(kEven, 40), 1);
  EXPECT_DOUBLE_EQ(wait_for_sums(kEven, 4), 1);
}

TEST(HiddenTime, OfAShortBackwardAllButTheBackwardIsLeft) {
  EXPECT_DOUBLE_EQ(wait_for_sums(kEven, 0), 4);
  EXPECT_DOUBLE_EQ(wait_for_sums(kEven, 2), 2.5) << "it began after the first part, a half";
}

TEST(HiddenTime, WeightsHideBehindTheOptimizerAndTheNextForward) {
  EXPECT_DOUBLE_EQ(wait_for_weights(kEven, 0, 0), 4);
  EXPECT_DOUBLE_EQ(wait_for_weights(kEven, 0, 40), 1) << "the first part's";
  EXPECT_DOUBLE_EQ(wait_for_weights(kEven, 40, 0), 1) << "the last part's";
  EXPECT_DOUBLE_EQ(wait_for_weights(kEven, 40, 40), 0);
}

TEST(HiddenTime, TurnsHideBehindTheNextMicroBatch) {
  EXPECT_DOUBLE_EQ(wait_for_turns(kEven, 40, 60, 8), 1) << "of the last one, the first layers' part";
  EXPECT_DOUBLE_EQ(wait_for_turns(kEven, 0, 60, 8), 4);
  EXPECT_DOUBLE_EQ(wait_for_turns(kEven, 2, 3, 8), 2.5 + 7 * 1) << "an exchange takes longer than a micro-batch";
  EXPECT_DOUBLE_EQ(wait_for_turns(kEven, 2, 3, 0), 0);
}

}  // namespace
}  // namespace titan::train::hidden_time_test
