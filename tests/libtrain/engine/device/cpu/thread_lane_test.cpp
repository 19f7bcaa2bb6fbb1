#include "libtrain/engine/device/cpu/thread_lane.h"

#include <atomic>
#include <chrono>
#include <memory>
#include <semaphore>
#include <stdexcept>
#include <vector>

#include <ATen/Parallel.h>
#include <gtest/gtest.h>

namespace titan::train::thread_lane_test {
namespace {

TEST(ThreadLane, WorksRunInOrderBesideTheOneWhoGives) {
  ThreadLane lane;
  std::binary_semaphore go(0);
  std::vector<int> done;
  lane.give([&] {
    go.acquire();
    done.push_back(1);
  });
  lane.give([&] { done.push_back(2); });
  EXPECT_EQ(lane.given(), 2u);
  go.release();  // a lane that worked in this thread would have waited for ever
  lane.wait(1);
  lane.wait_all();
  EXPECT_EQ(done, (std::vector{1, 2}));
  lane.wait_all();
}

TEST(ThreadLane, WaitsForNoMoreThanItIsAskedFor) {
  ThreadLane lane;
  std::binary_semaphore go(0);
  std::atomic<int> done = 0;
  lane.give([&] { ++done; });
  lane.give([&] { go.acquire(); });
  lane.wait(1);
  EXPECT_EQ(done, 1);
  go.release();
}

TEST(ThreadLane, WhatAWorkThrowsIsThrownWhereItIsWaitedFor) {
  ThreadLane lane;
  std::atomic<bool> ran = false;
  lane.give([] { throw std::runtime_error("lost"); });
  lane.give([&] { ran = true; });
  EXPECT_THROW(lane.wait_all(), std::runtime_error);
  EXPECT_THROW(lane.wait(1), std::runtime_error) << "a lane that failed is of no use any more";
  EXPECT_FALSE(ran);
}

TEST(ThreadLane, WhatAWorkHoldsGoesBeforeItCountsAsDone) {
  ThreadLane lane;
  auto held = std::make_shared<int>(1);
  const std::weak_ptr<int> seen = held;
  lane.give([held = std::move(held)] {});
  lane.wait_all();
  EXPECT_TRUE(seen.expired());
}

TEST(ThreadLane, ComputesWithOneThread) {
  ThreadLane lane;
  int threads = 0;
  lane.give([&] { threads = at::get_num_threads(); });
  lane.wait_all();
  EXPECT_EQ(threads, 1);
}

TEST(ThreadLane, EndsWithoutWhatHasNotBegun) {
  std::binary_semaphore began(0), go(0);
  std::atomic<bool> ran = false;
  {
    ThreadLane lane;
    lane.give([&] {
      began.release();
      go.acquire();
    });
    lane.give([&] { ran = true; });
    began.acquire();
    go.release();
  }
  SUCCEED() << "and the second work may have run or not: " << ran;
}

}  // namespace
}  // namespace titan::train::thread_lane_test
