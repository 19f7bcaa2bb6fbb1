#include "ckpt/base/parallel.h"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <mutex>
#include <new>
#include <set>
#include <thread>
#include <vector>

#include "tests/support/few_threads.h"

namespace titan::ckpt::parallel_test {
namespace {

TEST(ParallelFor, CallsEveryIndexOnceWithAnyNumberOfThreads) {
  for (const unsigned threads : {1u, 2u, 7u, 100u}) {
    std::vector<std::atomic<int>> calls(40);
    EXPECT_TRUE(parallel_for(calls.size(), threads, [&](std::size_t i) { return ++calls[i], ok_status(); }).ok());
    for (const std::atomic<int>& count : calls) EXPECT_EQ(count, 1);
  }
  EXPECT_TRUE(parallel_for(0, 4, [](std::size_t) { return failed("never"); }).ok());
}

TEST(ParallelFor, ReturnsTheFailureOfTheLowestIndexAndBeginsNothingMore) {
  std::atomic<std::size_t> calls = 0;
  const Status alone =
      parallel_for(1000, 1, [&](std::size_t i) { return ++calls, i >= 10 ? failed(std::to_string(i)) : ok_status(); });
  EXPECT_EQ(alone.message, "10");
  EXPECT_EQ(calls, 11u);
  // The first `threads` indices are all begun when each waits for the others.
  std::atomic<unsigned> begun = 0;
  const Status together = parallel_for(1000, 4, [&](std::size_t i) {
    ++begun;
    while (begun < 4) {}
    return failed(std::to_string(i));
  });
  EXPECT_EQ(together.message, "0");
}

TEST(ParallelFor, ALaterIndexThatFailsAfterwardsIsNotReported) {
  std::atomic<bool> second_begun = false, first_failed = false;
  const Status status = parallel_for(2, 2, [&](std::size_t i) {
    if (i == 0) {
      while (!second_begun) std::this_thread::yield();
      first_failed = true;
    } else {
      second_begun = true;
      while (!first_failed) std::this_thread::yield();
      std::this_thread::sleep_for(std::chrono::milliseconds(50));  // by now the failure of index 0 is noted
    }
    return failed(std::to_string(i));
  });
  EXPECT_EQ(status.message, "0");
}

TEST(ParallelFor, GoesOnWithTheThreadsThatCouldBeStarted) {
  for (const int more : {0, 1, 2}) {
    const testing::FewThreads few(more);
    std::vector<std::atomic<int>> calls(40);
    std::mutex mutex;
    std::set<std::thread::id> threads;
    EXPECT_TRUE(parallel_for(calls.size(), 8, [&](std::size_t i) {
                  const std::lock_guard lock(mutex);
                  threads.insert(std::this_thread::get_id());
                  return ++calls[i], ok_status();
                }).ok());
    for (const std::atomic<int>& count : calls) EXPECT_EQ(count, 1);
    EXPECT_LE(threads.size(), more + 1u);
  }
}

TEST(ParallelFor, TurnsAnExceptionIntoAStatusInEveryThread) {
  for (const unsigned threads : {1u, 4u}) {
    std::atomic<unsigned> begun = 0;
    const Status status = parallel_for(100, threads, [&](std::size_t) -> Status {
      ++begun;
      while (begun < threads) std::this_thread::yield();  // so each thread has one
      throw std::bad_alloc();
    });
    EXPECT_EQ(status, failed("out of memory"));
  }
}

TEST(IoThreads, TakesWhatWasAskedForElseSeveral) {
  EXPECT_EQ(io_threads(3), 3u);
  EXPECT_GE(io_threads(0), 4u);
  EXPECT_LE(io_threads(0), 16u);
}

}  // namespace
}  // namespace titan::ckpt::parallel_test
