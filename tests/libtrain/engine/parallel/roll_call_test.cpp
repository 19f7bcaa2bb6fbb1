#include "libtrain/engine/parallel/roll_call.h"

#include <gtest/gtest.h>

#include "tests/libtrain/engine/parallel/counting_store.h"

namespace titan::train::roll_call_test {
namespace {

using namespace std::chrono_literals;

TEST(RollCall, TheLastRankTellsAll) {
  test::CountingStore store;
  for (const int rank : {2, 0}) RollCall::arrive(store, rank, 3);
  RollCall roll(store, 3);
  EXPECT_ANY_THROW(roll.wait(1ms));
  EXPECT_EQ(roll.missing(false), std::vector<int>{1});
  RollCall::arrive(store, 1, 3);
  roll.wait(1ms);
  EXPECT_TRUE(roll.missing(true).empty());
}

TEST(RollCall, OneRankLooksUpNamesForAll) {
  constexpr int kWorld = 256;
  test::CountingStore store;
  std::vector<RollCall> ranks;
  for (int rank = 0; rank < kWorld; ++rank) {
    if (rank != 7 && rank != 70) RollCall::arrive(store, rank, kWorld);
    ranks.emplace_back(store, kWorld);
  }
  for (const bool exact : {false, true}) {
    const std::uint64_t before = store.keys;
    for (RollCall& rank : ranks) EXPECT_EQ(rank.missing(exact), (std::vector<int>{7, 70}));
    EXPECT_LE(store.keys - before, 6u * kWorld);
  }
}

TEST(RollCall, WhoeverWantsToKnowExactlyLooksAgainWhereTheOtherIsBehind) {
  test::CountingStore store;
  RollCall::arrive(store, 0, 4);
  RollCall looker(store, 4), other(store, 4);
  EXPECT_EQ(looker.missing(false), (std::vector<int>{1, 2, 3}));
  RollCall::arrive(store, 2, 4);
  EXPECT_EQ(other.missing(false), (std::vector<int>{1, 2, 3}));
  EXPECT_EQ(other.missing(true), (std::vector<int>{1, 3}));
}

}  // namespace
}  // namespace titan::train::roll_call_test
