#include "ckpt/store/turnstile.h"

#include <gtest/gtest.h>

#include <numeric>
#include <thread>
#include <vector>

namespace titan::ckpt::turnstile_test {
namespace {

TEST(Turnstile, LetsThreadsPassInOrderOfTheSequence) {
  constexpr std::uint64_t kThreads = 16;
  Turnstile turnstile;
  std::vector<std::uint64_t> passed;
  std::vector<std::thread> threads;
  for (std::uint64_t i = kThreads; i-- > 0;) {  // the last one comes first
    threads.emplace_back([&, i] { EXPECT_TRUE(turnstile.pass(i, [&] { passed.push_back(i); })); });
  }
  for (std::thread& thread : threads) thread.join();
  std::vector<std::uint64_t> expected(kThreads);
  std::iota(expected.begin(), expected.end(), std::uint64_t{0});
  EXPECT_EQ(passed, expected);
}

TEST(Turnstile, SendsEveryoneAwayWhenItIsStopped) {
  Turnstile turnstile;
  std::vector<std::thread> threads;
  bool stepped = false;
  for (std::uint64_t i = 1; i < 5; ++i) {
    threads.emplace_back([&, i] { EXPECT_FALSE(turnstile.pass(i, [&] { stepped = true; })); });
  }
  turnstile.stop();
  for (std::thread& thread : threads) thread.join();
  EXPECT_FALSE(turnstile.pass(0, [&] { stepped = true; }));
  EXPECT_FALSE(stepped);
}

}  // namespace
}  // namespace titan::ckpt::turnstile_test
