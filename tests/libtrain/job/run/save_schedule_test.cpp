#include "libtrain/job/run/save_schedule.h"

#include <gtest/gtest.h>

#include "recipe/history/save_interval.h"

namespace titan::train::save_schedule_test {
namespace {

SaveSchedule schedule(const std::string& interval, double mtbf = 86400, bool first = false) {
  recipe::SaveInterval when;
  if (const auto parsed = recipe::parse_save_interval(interval))
    when = *parsed;
  else
    when.steps = std::stoll(interval);
  return {when, first, mtbf, 100};
}

void fails(SaveSchedule& saves, std::uint64_t step, double now) { saves.failed(saves.counts(step, now), now); }

TEST(SaveSchedule, StepsNeedNoClock) {
  const SaveSchedule every = schedule("3");
  EXPECT_FALSE(every.time_is_up(1e9));
  for (std::uint64_t step = 1; step <= 9; ++step) EXPECT_EQ(every.due(step, false, true), step % 3 == 0);
  EXPECT_TRUE(schedule("3", 1, true).due(1, false, false));
  EXPECT_TRUE(schedule("1h", 1, true).due(1, false, false));
}

TEST(SaveSchedule, ATimeCountsFromTheBeginningOfTheLastSave) {
  SaveSchedule every = schedule("10min");
  EXPECT_FALSE(every.time_is_up(699));
  EXPECT_TRUE(every.time_is_up(700));
  every.begun(705);
  EXPECT_FALSE(every.time_is_up(1304));
  EXPECT_TRUE(every.time_is_up(1305));
  EXPECT_TRUE(every.due(7, true, false));
  EXPECT_FALSE(every.due(7, true, true)) << "a save is under way: this one waits for it, and training does not";
  EXPECT_FALSE(every.due(7, false, false)) << "rank 0 decides";
}

TEST(SaveSchedule, ContinuousBeginsWhenTheLastIsDurable) {
  SaveSchedule saves = schedule("continuous");
  EXPECT_TRUE(saves.time_is_up(100));
  EXPECT_TRUE(saves.due(1, true, false));
  EXPECT_FALSE(saves.due(2, true, true));
  fails(saves, 2, 200);
  EXPECT_FALSE(saves.time_is_up(229)) << "a full disk is not tried at every step";
  EXPECT_TRUE(saves.time_is_up(230));
  fails(saves, 3, 230);
  EXPECT_FALSE(saves.time_is_up(289)) << "and the longer it is full the less often";
  EXPECT_TRUE(saves.time_is_up(290));
}

TEST(SaveSchedule, CountsFailuresInARow) {
  SaveSchedule saves = schedule("5");
  fails(saves, 5, 1);
  fails(saves, 10, 11);
  EXPECT_EQ(saves.failures_in_a_row(), 2);
  saves.succeeded();
  EXPECT_EQ(saves.tries_in_a_row(), 0);
  fails(saves, 15, 12);
  EXPECT_EQ(saves.failures_in_a_row(), 1);
}

TEST(SaveSchedule, FailuresOfTheSameSecondsAreOne) {
  SaveSchedule saves = schedule("5");
  for (const double now : {1.0, 1.5, 4.0, 10.9}) fails(saves, 5, now);
  EXPECT_EQ(saves.failures_in_a_row(), 1) << "a disk that is full for ten seconds";
  EXPECT_EQ(saves.tries_in_a_row(), 4);
  fails(saves, 5, 11);
  EXPECT_EQ(saves.failures_in_a_row(), 2) << "10 s from the last that counted, not from the last";
  fails(saves, 5, 20.9);
  EXPECT_EQ(saves.failures_in_a_row(), 2);
  saves.succeeded();
  fails(saves, 5, 21);
  EXPECT_EQ(saves.failures_in_a_row(), 1);
}

TEST(SaveSchedule, AfterAFailureTheNextSaveMayComeBeforeItsTurn) {
  SaveSchedule saves = schedule("500");
  EXPECT_FALSE(saves.may_be_early(1e9)) << "none has failed";
  EXPECT_FALSE(saves.due(501, false, false));
  fails(saves, 500, 100);
  EXPECT_FALSE(saves.may_be_early(129));
  EXPECT_TRUE(saves.may_be_early(130));
  EXPECT_TRUE(saves.due(507, true, false)) << "rank 0 has an answer of the store";
  EXPECT_FALSE(saves.due(507, true, true));
  fails(saves, 507, 131);
  EXPECT_EQ(saves.failures_in_a_row(), 1) << "it was only a try";
  EXPECT_FALSE(saves.may_be_early(131 + 59));
  EXPECT_TRUE(saves.may_be_early(131 + 60));
  fails(saves, 1000, 200);
  EXPECT_EQ(saves.failures_in_a_row(), 2);
  saves.succeeded();
  EXPECT_FALSE(saves.may_be_early(1e9));
  SaveSchedule timed = schedule("10min");
  fails(timed, 7, 100);
  EXPECT_FALSE(timed.may_be_early(1e9)) << "it has a clock of its own";
  EXPECT_EQ(timed.failures_in_a_row(), 1);
}

TEST(SaveSchedule, AutoSavesOnceToKnowTheCost) {
  SaveSchedule saves = schedule("auto", 7200);
  EXPECT_TRUE(saves.time_is_up(100));
  EXPECT_FALSE(saves.chosen_seconds());
  saves.begun(101);
  EXPECT_FALSE(saves.time_is_up(1e9)) << "its cost is known when it is over";
  saves.over(4);
  const double best = recipe::best_interval(4, 7200);
  EXPECT_DOUBLE_EQ(saves.chosen_seconds().value(), best);
  EXPECT_FALSE(saves.time_is_up(101 + 4 + best - 1));
  EXPECT_TRUE(saves.time_is_up(101 + 4 + best + 1));
  saves.over(8);
  EXPECT_DOUBLE_EQ(saves.chosen_seconds().value(), recipe::best_interval(6, 7200));
}

TEST(SaveSchedule, ASaveThatCostsNothingStillHasAnInterval) {
  SaveSchedule saves = schedule("auto");
  saves.over(0);
  EXPECT_GT(saves.chosen_seconds().value(), 1);
}

}  // namespace
}  // namespace titan::train::save_schedule_test
