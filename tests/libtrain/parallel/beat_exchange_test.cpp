#include "libtrain/parallel/beat_exchange.h"

#include <gtest/gtest.h>

#include "tests/libtrain/parallel/counting_store.h"

namespace titan::train::beat_exchange_test {
namespace {

/// Ranks that beat in turn, those of `dead` apart.
struct Ring {
  explicit Ring(int world) : store(c10::make_intrusive<test::CountingStore>()) {
    for (int rank = 0; rank < world; ++rank) {
      BeatExchange::prepare(*store, rank);
      ranks.emplace_back(store, rank, world);
    }
    heard.resize(ranks.size());
  }
  void beat(const std::set<int>& dead = {}, const std::set<int>& leaving = {}) {
    ++count;
    for (int rank = 0; rank < static_cast<int>(ranks.size()); ++rank) {
      if (dead.contains(rank)) continue;
      const bool leaves = leaving.contains(rank);
      heard[rank] = ranks[rank](std::to_string(count) + (leaves ? "L" : ""), leaves);
    }
  }
  c10::intrusive_ptr<test::CountingStore> store;
  std::vector<BeatExchange> ranks;
  std::vector<std::vector<std::string>> heard;
  int count = 0;
};

TEST(BeatExchange, CostsTheSameForEachRankHoweverManyThereAre) {
  for (const int world : {32, 256}) {
    Ring ring(world);
    ring.beat();
    const std::uint64_t before = ring.store->keys;
    ring.beat();
    EXPECT_LE(ring.store->keys - before, static_cast<std::uint64_t>(world) * (BeatExchange::kNeighbours + 2)) << world;
  }
}

TEST(BeatExchange, EveryRankHearsOfThoseThatFallSilentThoughItDoesNotWatchThem) {
  for (const std::set<int>& dead : {std::set<int>{20}, {0, 1}, {63, 0}, {8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18}}) {
    Ring ring(64);
    for (int i = 0; i < 3; ++i) ring.beat();
    const std::string last = std::to_string(ring.count);
    // More than the neighbours of a rank are seen in turns.
    const int turns = static_cast<int>(dead.size()) / (BeatExchange::kNeighbours + 1) + 1;
    for (int i = 0; i < turns * (BeatExchange::kQuietBeats + 4); ++i) ring.beat(dead);
    for (int rank = 0; rank < 64; ++rank) {
      if (dead.contains(rank)) continue;
      for (int other = 0; other < 64; ++other) {
        const std::string& heard = ring.heard[rank][other];
        EXPECT_EQ(heard == last, dead.contains(other)) << rank << " of " << other << ": " << heard;
      }
    }
  }
}

TEST(BeatExchange, EveryRankHearsOfOneThatLeaves) {
  Ring ring(64);
  ring.beat();
  ring.beat({}, {5});
  ring.beat({}, {5});
  ring.beat({}, {5});
  for (int rank = 0; rank < 64; ++rank) EXPECT_EQ(ring.heard[rank][5].back(), 'L') << rank;
}

TEST(BeatExchange, FewRanksWatchEachOther) {
  Ring ring(4);
  ring.beat();
  ring.beat();
  for (int rank = 0; rank < 4; ++rank)
    for (int other = 0; other < 4; ++other) EXPECT_FALSE(ring.heard[rank][other].empty());
}

}  // namespace
}  // namespace titan::train::beat_exchange_test
