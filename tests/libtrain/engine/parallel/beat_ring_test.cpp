#include "libtrain/engine/parallel/beat_ring.h"

#include <gtest/gtest.h>

#include <set>
#include <utility>

#include "tests/libtrain/engine/parallel/counting_store.h"

namespace titan::train::beat_ring_test {
namespace {

/// Ranks that beat in turn, those of `dead` apart.
struct Ring {
  explicit Ring(int world) : store(c10::make_intrusive<test::CountingStore>()) {
    for (int rank = 0; rank < world; ++rank) {
      BeatRing::prepare(*store, rank);
      ranks.emplace_back(store, rank, world);
    }
    heard.resize(ranks.size());
    before = heard;
  }
  void beat(const std::set<int>& dead = {}, const std::set<int>& leaving = {}) {
    ++count;
    for (int rank = 0; rank < static_cast<int>(ranks.size()); ++rank) {
      if (dead.contains(rank)) continue;
      const bool leaves = leaving.contains(rank);
      before[rank] = std::exchange(heard[rank], ranks[rank](std::to_string(count) + (leaves ? "L" : ""), leaves));
    }
  }
  /// Whether `rank` would call `other` silent sooner or later.
  bool silent(int rank, int other) const {
    return !heard[rank][other].empty() && heard[rank][other] == before[rank][other];
  }
  std::size_t news_bytes() const { return store->get("beat-news").size(); }
  c10::intrusive_ptr<test::CountingStore> store;
  std::vector<BeatRing> ranks;
  std::vector<std::vector<std::string>> heard, before;
  int count = 0;
};

TEST(BeatRing, CostsTheSameForEachRankHoweverManyThereAre) {
  for (const int world : {32, 256}) {
    Ring ring(world);
    ring.beat();
    const std::uint64_t before = ring.store->keys;
    ring.beat();
    EXPECT_LE(ring.store->keys - before, static_cast<std::uint64_t>(world) * (BeatRing::kNeighbours + 2)) << world;
  }
}

TEST(BeatRing, EveryRankHearsOfThoseThatFallSilentThoughItDoesNotWatchThem) {
  for (const std::set<int>& dead : {std::set<int>{20}, {0, 1}, {63, 0}, {8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18}}) {
    Ring ring(64);
    for (int i = 0; i < 3; ++i) ring.beat();
    // More than the neighbours of a rank are seen in turns.
    const int turns = static_cast<int>(dead.size()) / (BeatRing::kNeighbours + 1) + 1;
    for (int i = 0; i < turns * (BeatRing::kQuietBeats + 4); ++i) ring.beat(dead);
    for (int rank = 0; rank < 64; ++rank) {
      if (dead.contains(rank)) continue;
      for (int other = 0; other < 64; ++other)
        EXPECT_EQ(ring.silent(rank, other), dead.contains(other))
            << rank << " of " << other << ": " << ring.heard[rank][other];
    }
  }
}

// A switch that drops every second rank for three seconds: nobody pays for it, then or later.
TEST(BeatRing, CostsNoMoreWhileManyAreQuietNorAfterwards) {
  Ring ring(1024);
  std::set<int> unseen;
  for (int rank = 1; rank < 1024; rank += 2) unseen.insert(rank);
  for (int i = 0; i < 3; ++i) ring.beat();
  const auto keys_of_a_beat = [&](const std::set<int>& dead) {
    const std::uint64_t before = ring.store->keys;
    ring.beat(dead);
    return (ring.store->keys - before) / (1024 - dead.size());
  };
  const std::uint64_t begin = keys_of_a_beat({});
  for (int i = 0; i < 6; ++i) EXPECT_LE(keys_of_a_beat(unseen), begin);
  EXPECT_TRUE(ring.silent(512, 1));
  for (int i = 0; i < 20; ++i) EXPECT_LE(keys_of_a_beat({}), begin);
  for (int rank = 0; rank < 1024; ++rank)
    for (const int other : unseen) ASSERT_FALSE(ring.silent(rank, other)) << rank << " of " << other;
  EXPECT_LE(ring.news_bytes(), BeatRing::kSpareNews + 8);
}

TEST(BeatRing, HearsOfARankEachTimeThatItFallsSilent) {
  Ring ring(64);
  for (int time = 0; time < 3; ++time) {
    for (int i = 0; i < 3; ++i) ring.beat();
    for (int rank = 0; rank < 64; ++rank) EXPECT_FALSE(ring.silent(rank, 20)) << rank;
    for (int i = 0; i < BeatRing::kQuietBeats + 4; ++i) ring.beat({20});
    for (int rank = 0; rank < 64; ++rank) EXPECT_TRUE(rank == 20 || ring.silent(rank, 20)) << rank;
  }
}

// It beats, then stands still until it is in the news; it says that it beats, and beats no more.
TEST(BeatRing, HearsOfARankThatDiesRightAfterItCameBack) {
  Ring ring(64);
  for (int i = 0; i < 3; ++i) ring.beat();
  ++ring.count;
  bool stood_still = false;
  ring.store->before_reads = [&] {
    if (std::exchange(stood_still, true)) return;
    for (int i = 0; i < BeatRing::kQuietBeats + 2; ++i) ring.beat({20});
  };
  ring.ranks[20](std::to_string(ring.count), false);
  for (int i = 0; i < BeatRing::kQuietBeats + 4; ++i) ring.beat({20});
  for (int rank = 0; rank < 64; ++rank) EXPECT_TRUE(rank == 20 || ring.silent(rank, 20)) << rank;
}

TEST(BeatRing, OneThatLeftIsNotCalledQuietByANeighbourThatMissesItsBeat) {
  Ring ring(64);
  for (int i = 0; i < 2; ++i) ring.beat();
  // Its neighbours have read their keys before it left, and find it quiet afterwards.
  ring.store->append("beat-news", {'2', '0', 'L', '2', '0', ';'});
  for (int i = 0; i < 2; ++i) ring.beat({20});
  for (int rank = 0; rank < 64; ++rank) EXPECT_TRUE(rank == 20 || ring.heard[rank][20].back() == 'L') << rank;
}

TEST(BeatRing, EveryRankHearsOfOneThatLeaves) {
  Ring ring(64);
  ring.beat();
  ring.beat({}, {5});
  ring.beat({}, {5});
  ring.beat({}, {5});
  for (int rank = 0; rank < 64; ++rank) EXPECT_EQ(ring.heard[rank][5].back(), 'L') << rank;
}

TEST(BeatRing, FewRanksWatchEachOther) {
  Ring ring(4);
  ring.beat();
  ring.beat();
  for (int rank = 0; rank < 4; ++rank)
    for (int other = 0; other < 4; ++other) EXPECT_FALSE(ring.heard[rank][other].empty());
}

}  // namespace
}  // namespace titan::train::beat_ring_test
