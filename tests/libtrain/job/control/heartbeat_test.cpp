#include "libtrain/job/control/heartbeat.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>
#include <atomic>
#include <condition_variable>
#include <functional>
#include <mutex>
#include <stdexcept>
#include <thread>

namespace titan::train::heartbeat_test {
namespace {

using testing::HasSubstr;
using namespace std::chrono_literals;

/// A store in memory with one peer per rank that beats at every exchange unless it was silenced.
struct FakeStore {
  std::mutex mutex;
  std::vector<std::string> values;
  std::vector<bool> silent, leaving;
  bool lost = false;
  int count = 0;

  explicit FakeStore(int world) : values(world, "0"), silent(world, false), leaving(world, false) {}

  int beats() {
    std::lock_guard lock(mutex);
    return count;
  }
  Heartbeat::SendBeat exchange(int rank) {
    return [this, rank](const std::string& own, bool) {
      std::lock_guard lock(mutex);
      if (lost) throw std::runtime_error("connection reset");
      ++count;
      for (std::size_t i = 0; i < values.size(); ++i) {
        if (!silent[i]) values[i] = std::to_string(count) + (leaving[i] ? "L" : "");
      }
      values[rank] = own;
      return values;
    };
  }
};

HeartbeatOptions quick(int rank, int world) {
  HeartbeatOptions options;
  options.rank = rank;
  options.world = world;
  options.beat = 2ms;
  options.quiet = 200ms;
  options.patience = 300ms;
  options.train_timeout = 300ms;
  return options;
}

/// For tests in which diagnose() finds somebody: it then returns at once, however late a thread of a busy machine is.
HeartbeatOptions surely(int rank, int world) {
  HeartbeatOptions options = quick(rank, world);
  options.patience = 30s;
  return options;
}

TEST(Heartbeat, BlamesNobodyWhenAllBeat) {
  FakeStore store(3);
  Heartbeat heartbeat(quick(0, 3), store.exchange(0));
  EXPECT_THAT(heartbeat.diagnose("barrier", true, 3s).text,
              HasSubstr("barrier did not finish within 3 s on rank 0, although every rank has a heartbeat"));
  EXPECT_TRUE(heartbeat.overdue().empty());
}

TEST(Heartbeat, NamesASilentRankWithTheDeadline) {
  FakeStore store(3);
  store.silent[2] = true;
  Heartbeat heartbeat(surely(0, 3), store.exchange(0));
  EXPECT_THAT(
      heartbeat.diagnose("barrier of group all", true, 3s).text,
      testing::MatchesRegex("rank 2 is silent: no heartbeat for [0-9]+(\\.[0-9])? s \\(comm.train_timeout_seconds = "
                            "0\\.3\\), noticed by rank 0 in barrier of group all"));
}

// A long step of one rank is no reason to end the run before comm.train_timeout_seconds.
TEST(Heartbeat, ARankIsOverdueAfterTheTrainingTimeoutAndNotWhenItIsMerelyQuiet) {
  FakeStore store(3);
  store.silent[2] = true;
  HeartbeatOptions options = surely(0, 3);
  options.quiet = 50ms;
  options.train_timeout = 24h;
  options.linger = 0ms;
  Heartbeat heartbeat(options, store.exchange(0));
  EXPECT_THAT(heartbeat.diagnose("barrier", true, 3s).text, HasSubstr("rank 2 is silent")) << "by now it is quiet";
  EXPECT_TRUE(heartbeat.overdue().empty());
}

// The store dies with rank 0: the others learn from it what rank 0 has just learned.
TEST(Heartbeat, TheStoresHostStaysForTheOthersAfterItHasFoundASilentRank) {
  FakeStore store(3);
  store.silent[2] = true;
  HeartbeatOptions options = surely(0, 3);
  options.quiet = 20ms;
  options.linger = 1500ms;
  Heartbeat heartbeat(options, store.exchange(0));
  const auto begin = std::chrono::steady_clock::now();
  EXPECT_THAT(heartbeat.diagnose("barrier", true, 3s).text, HasSubstr("rank 2 is silent"));
  EXPECT_GE(std::chrono::steady_clock::now() - begin, options.linger);
  std::lock_guard lock(store.mutex);
  EXPECT_EQ(store.values[0].back(), 'L') << "and beats on meanwhile, as one that leaves";
}

TEST(Heartbeat, TheStoresHostStaysAlsoWhereItGoesBecauseARankIsOverdue) {
  FakeStore store(3);
  HeartbeatOptions options = quick(0, 3);
  options.linger = 300ms;
  Heartbeat heartbeat(options, store.exchange(0));
  const auto begin = std::chrono::steady_clock::now();
  EXPECT_THAT(heartbeat.explain("barrier", {{2, 3s}}).text, HasSubstr("rank 2 is silent: no heartbeat for 3 s"));
  EXPECT_GE(std::chrono::steady_clock::now() - begin, options.linger);
}

TEST(Heartbeat, ARankOfWhichNobodyReadsTheBeatsIsAlive) {
  Heartbeat heartbeat(surely(0, 3), [](const std::string& own, bool) {
    return std::vector<std::string>{own, "", "7"};
  });
  EXPECT_THAT(heartbeat.diagnose("recv", false, 3s).text, HasSubstr("rank 2 is gone"));
}

// A suspended machine, or a store that stood still: the peers could not beat either.
TEST(Heartbeat, BlamesNobodyForATimeInWhichItDidNotLook) {
  std::mutex mutex;
  std::condition_variable changed;
  int calls = 0;
  bool go_on = false;
  Heartbeat heartbeat(surely(0, 2), [&](const std::string& own, bool) {
    std::unique_lock lock(mutex);
    ++calls;
    changed.notify_all();
    if (calls == 2) std::this_thread::sleep_for(600ms);
    if (calls == 3) changed.wait(lock, [&] { return go_on; });
    return std::vector<std::string>{own, "the same"};
  });
  std::unique_lock lock(mutex);
  changed.wait(lock, [&] { return calls == 3; });
  EXPECT_TRUE(heartbeat.overdue().empty()) << "with a deadline of 0.3 s, after 0.6 s";
  go_on = true;
  changed.notify_all();
  lock.unlock();
  EXPECT_THAT(heartbeat.diagnose("recv", false, 3s).text, HasSubstr("rank 1 is gone")) << "it goes on to be quiet";
}

TEST(Heartbeat, AStoreThatWasNotAskedIsNotSilent) {
  FakeStore store(2);
  HeartbeatOptions options = quick(1, 2);
  options.beat = 10s;
  Heartbeat heartbeat(options, store.exchange(1));
  std::this_thread::sleep_for(options.quiet * 2);
  EXPECT_TRUE(heartbeat.silent_for(options.quiet).empty());
}

TEST(Heartbeat, NamesEveryDeadRank) {
  FakeStore store(4);
  store.silent[1] = store.silent[3] = true;
  Heartbeat heartbeat(surely(0, 4), store.exchange(0));
  EXPECT_THAT(heartbeat.diagnose("recv", false, 3s).text,
              HasSubstr("ranks 1, 3 are gone: connection closed and no heartbeat for"));
}

TEST(Heartbeat, NamesAllThatWereLostTogetherThoughOneBeatLater) {
  FakeStore store(4);
  store.silent[1] = true;
  HeartbeatOptions options = surely(0, 4);
  options.beat = 1s;
  options.quiet = 2s;
  options.linger = 0ms;
  Heartbeat heartbeat(options, [&store, beat = store.exchange(0)](const std::string& own, bool leaving) {
    const std::vector<std::string> values = beat(own, leaving);
    std::lock_guard lock(store.mutex);
    store.silent[3] = store.count >= 2;
    return values;
  });
  EXPECT_THAT(heartbeat.diagnose("barrier", false, 3s).text, HasSubstr("ranks 1, 3 are gone"));
}

TEST(Heartbeat, DoesNotBlameARankThatLeftBecauseOfAnother) {
  FakeStore store(3);
  store.leaving[1] = true;
  {
    Heartbeat first(quick(0, 3), store.exchange(0));
    while (first.leaving().empty()) std::this_thread::sleep_for(1ms);
    EXPECT_EQ(first.diagnose("recv", false, 3s).text, "rank 1 met an error and left, noticed by rank 0 in recv");
  }
  store.silent[1] = store.silent[2] = true;
  Heartbeat second(surely(0, 3), store.exchange(0));
  EXPECT_THAT(second.diagnose("recv", false, 3s).text, HasSubstr("rank 2 is gone"));
}

HeartbeatOptions patient(int rank, int world) {
  HeartbeatOptions options = quick(rank, world);
  options.quiet = options.patience = 30s;
  options.linger = 0ms;
  return options;
}

TEST(Heartbeat, WaitsForNoSilenceOfAProcessThatHasEnded) {
  FakeStore store(4);
  store.silent[1] = store.silent[3] = true;
  HeartbeatOptions options = patient(0, 4);
  options.ended = [](int rank) { return rank == 1 || rank == 3; };
  Heartbeat heartbeat(options, store.exchange(0));
  const auto begin = std::chrono::steady_clock::now();
  const LostRanks lost = heartbeat.diagnose("recv", false, 3s);
  EXPECT_THAT(lost.text, HasSubstr("ranks 1, 3 are gone: connection closed and no heartbeat for"));
  EXPECT_EQ(lost.ranks, (std::vector<int>{1, 3}));
  EXPECT_LT(std::chrono::steady_clock::now() - begin, options.quiet / 2);
}

TEST(Heartbeat, AnEndedProcessThatLeftForAnErrorIsNotTheCauseByItself) {
  FakeStore store(3);
  store.leaving[1] = true;
  HeartbeatOptions options = patient(0, 3);
  options.ended = [](int rank) { return rank == 1; };
  options.words = [](const std::string&) { return "rank 1: no memory"; };
  Heartbeat heartbeat(options, store.exchange(0));
  EXPECT_EQ(heartbeat.diagnose("recv", false, 3s).text,
            "rank 1 met an error and left, noticed by rank 0 in recv: rank 1: no memory");
}

TEST(Heartbeat, AStoreThatIsLostIsTheCauseOnlyWhereItsHostHasEnded) {
  FakeStore store(3);
  store.lost = true;
  HeartbeatOptions options = patient(1, 3);
  options.ended = [](int rank) { return rank == 0; };
  Heartbeat host(options, store.exchange(1));
  EXPECT_THAT(host.diagnose("recv", false, 3s).text, HasSubstr("rank 0 is gone"));
  options.quiet = 100ms;
  options.ended = [](int rank) { return rank == 2; };
  Heartbeat peer(options, store.exchange(1));
  EXPECT_THAT(peer.diagnose("recv", false, 3s).text, HasSubstr("rank 0 is gone")) << "who left cannot be known";
}

// Who finds the cause first and keeps the store takes it along.
TEST(Heartbeat, AStoreThatWentWithAHostThatLeftHidesNoEndedProcess) {
  FakeStore store(3);
  store.leaving[0] = true;
  HeartbeatOptions options = patient(2, 3);
  options.ended = [](int rank) { return rank < 2; };
  Heartbeat heartbeat(options, store.exchange(2));
  while (heartbeat.leaving().empty()) std::this_thread::sleep_for(1ms);
  {
    std::lock_guard lock(store.mutex);
    store.lost = true;
  }
  EXPECT_THAT(heartbeat.diagnose("send", false, 3s).text, HasSubstr("rank 1 is gone"));
}

TEST(Heartbeat, ADeadlineIsNoMatterOfProcesses) {
  FakeStore store(2);
  HeartbeatOptions options = quick(0, 2);
  options.ended = [](int) { return true; };
  Heartbeat heartbeat(options, store.exchange(0));
  EXPECT_THAT(heartbeat.diagnose("barrier", true, 3s).text, HasSubstr("every rank has a heartbeat"));
}

/// Words as a store keeps them.
std::function<std::string(const std::string&)> kept_in(std::string& standing) {
  return [&standing](const std::string& own) { return standing.empty() ? standing = own : standing; };
}

TEST(Heartbeat, QuotesWhatThePeerThatLeftSaid) {
  FakeStore store(3);
  store.leaving[1] = true;
  std::string standing = "no transfer ends";
  HeartbeatOptions options = quick(0, 3);
  options.words = kept_in(standing);
  options.quiet = 24h;
  Heartbeat heartbeat(options, store.exchange(0));
  const std::string text = "rank 1 met an error and left, noticed by rank 0 in recv: no transfer ends";
  EXPECT_EQ(heartbeat.diagnose("recv", false, 3s).text, text) << "at once: nothing is left to be found out";
  EXPECT_EQ(heartbeat.diagnose("recv", true, 3s).text, text);
}

// It waits in vain itself, and has closed nothing.
TEST(Heartbeat, APeerThatIsAboutToLeaveWithoutAWordIsNoCauseOfATimeout) {
  FakeStore store(2);
  store.leaving[1] = true;
  Heartbeat heartbeat(quick(0, 2), store.exchange(0));
  EXPECT_THAT(heartbeat.diagnose("recv", true, 3s).text, HasSubstr("recv did not finish within 3 s on rank 0"));
}

TEST(Heartbeat, TheFirstThatLeavesSpeaksForAll) {
  FakeStore store(2);
  std::string standing;
  HeartbeatOptions options = quick(1, 2);
  options.words = kept_in(standing);
  options.beat = 24h;
  {
    Heartbeat heartbeat(options, store.exchange(1));
    while (store.beats() == 0) std::this_thread::sleep_for(1ms);
    EXPECT_TRUE(heartbeat.leave("the disk burns")) << "though the next beat is a day away";
  }
  EXPECT_EQ(standing, "the disk burns");
  Heartbeat second(options, store.exchange(1));
  EXPECT_FALSE(second.leave("no light"));
  EXPECT_EQ(standing, "the disk burns");
}

TEST(Heartbeat, WhereTheStoreIsLostEveryRankSpeaks) {
  FakeStore store(2);
  store.lost = true;
  HeartbeatOptions options = quick(1, 2);
  std::string standing;
  options.words = kept_in(standing);
  Heartbeat heartbeat(options, store.exchange(1));
  EXPECT_TRUE(heartbeat.leave("no light"));
}

// Its store ends with it, but what it said was read before.
TEST(Heartbeat, ThatTheStoresHostIsGoneIsNoCauseWhereItHasSaidWhyItLeaves) {
  FakeStore store(2);
  store.leaving[0] = true;
  std::string standing = "the disk burns";
  std::atomic<int> read = 0;
  HeartbeatOptions options = quick(1, 2);
  options.words = [&](const std::string&) {
    ++read;
    return standing;
  };
  Heartbeat heartbeat(options, store.exchange(1));
  while (read < 2) std::this_thread::sleep_for(1ms);
  {
    std::lock_guard lock(store.mutex);
    store.lost = true;
  }
  std::this_thread::sleep_for(options.quiet * 2);
  EXPECT_TRUE(heartbeat.overdue().empty());
  EXPECT_THAT(heartbeat.diagnose("recv", false, 3s).text, HasSubstr("left, noticed by rank 1 in recv: the disk burns"));
}

TEST(Heartbeat, TheStoresHostStaysUntilItsWordsAreRead) {
  FakeStore store(2);
  HeartbeatOptions options = quick(0, 2);
  options.linger = 300ms;
  Heartbeat heartbeat(options, store.exchange(0));
  const auto begin = std::chrono::steady_clock::now();
  EXPECT_TRUE(heartbeat.leave("the disk burns"));
  EXPECT_GE(std::chrono::steady_clock::now() - begin, options.linger);
}

TEST(Heartbeat, TellsTheOthersThatItLeaves) {
  FakeStore store(2);
  Heartbeat heartbeat(quick(0, 2), store.exchange(0));
  static_cast<void>(heartbeat.diagnose("recv", false, 3s));
  std::lock_guard lock(store.mutex);
  EXPECT_EQ(store.values[0].back(), 'L');
}

TEST(Heartbeat, TakesALostStoreForRankZero) {
  FakeStore store(2);
  store.lost = true;
  Heartbeat heartbeat(surely(1, 2), store.exchange(1));
  EXPECT_THAT(heartbeat.diagnose("recv", false, 3s).text, HasSubstr("rank 0 is gone"));
}

TEST(Heartbeat, BlamesNobodyForTheLostStoreOfAnAgent) {
  FakeStore store(2);
  store.lost = true;
  HeartbeatOptions options = quick(1, 2);
  options.store_on_rank_0 = false;
  Heartbeat heartbeat(options, store.exchange(1));
  EXPECT_EQ(heartbeat.diagnose("recv", false, 3s).text, "a peer closed its connection, noticed by rank 1 in recv");
}

TEST(Heartbeat, TakesAStoreThatDoesNotAnswerForRankZeroAndEndsAnyway) {
  HeartbeatOptions options = quick(1, 2);
  options.quiet = options.patience = 2s;
  Heartbeat heartbeat(options, [](const std::string&, bool) -> std::vector<std::string> {
    // The thread is left behind in here on purpose, as it would be in a stopped store's connection.
    while (true) pause();
  });
  EXPECT_THAT(heartbeat.diagnose("recv", true, 3s).text, HasSubstr("rank 0 is silent"));
  const auto overdue = heartbeat.overdue();
  EXPECT_TRUE(overdue.empty() || overdue[0].rank == 0);
}

TEST(Heartbeat, WritesNamesAndSecondsForPeople) {
  EXPECT_EQ(name_ranks({2}), "rank 2");
  EXPECT_EQ(name_ranks({0, 3}), "ranks 0, 3");
  EXPECT_EQ(seconds_text(12'000ms), "12 s");
  EXPECT_EQ(seconds_text(12'400ms), "12 s");
  EXPECT_EQ(seconds_text(2'500ms), "2.5 s");
}

TEST(FirstSurvivor, IsTheLowestRankThatIsNotLost) {
  EXPECT_EQ(first_survivor({}), 0);
  EXPECT_EQ(first_survivor({2}), 0);
  EXPECT_EQ(first_survivor({0}), 1);
  EXPECT_EQ(first_survivor({0, 1, 3}), 2) << "rank 0 lost together with others";
}

}  // namespace
}  // namespace titan::train::heartbeat_test
