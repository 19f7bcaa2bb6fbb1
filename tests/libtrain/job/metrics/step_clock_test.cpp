#include "libtrain/job/metrics/step_clock.h"

#include <gtest/gtest.h>

#include <chrono>
#include <thread>

namespace titan::train::step_clock_test {
namespace {

void pause() { std::this_thread::sleep_for(std::chrono::milliseconds(2)); }

double sum(const StepTimes& t) {
  return t.data + t.forward + t.backward + t.pipeline + t.exchange + t.optimizer + t.gather + t.other;
}

TEST(StepClock, GivesEachMomentToTheInnermostPart) {
  StepClock clock;
  const auto begin = std::chrono::steady_clock::now();
  clock.start();
  {
    const StepClock::In forward(clock, &StepTimes::forward);
    {
      const StepClock::In data(clock, &StepTimes::data);
      pause();
    }
    const StepTimes so_far = clock.read();
    EXPECT_GE(so_far.data, 0.002);
    pause();
    EXPECT_EQ(clock.read().data, so_far.data);
  }
  EXPECT_EQ(clock.time(&StepTimes::gather,
                       [] {
                         pause();
                         return 7;
                       }),
            7);
  const double forward = clock.read().forward;
  pause();
  const StepTimes all = clock.read();
  const double passed = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  EXPECT_GE(forward, 0.002);
  EXPECT_EQ(all.forward, forward);
  EXPECT_GE(all.gather, 0.002);
  EXPECT_GE(all.other, 0.002);
  EXPECT_EQ(all.backward + all.pipeline + all.exchange + all.optimizer, 0);
  EXPECT_LE(sum(all), passed + 1e-9);
  EXPECT_GE(sum(all), 0.008);

  clock.start();
  EXPECT_EQ(clock.read().forward, 0);
}

}  // namespace
}  // namespace titan::train::step_clock_test
