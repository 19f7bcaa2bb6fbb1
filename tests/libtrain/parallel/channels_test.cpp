#include "libtrain/parallel/channels.h"

#include <algorithm>
#include <deque>
#include <map>
#include <set>

#include <gtest/gtest.h>

#include "libtrain/reduce/tree_sum.h"

namespace titan::train::channels_test {
namespace {

bool has(const std::vector<Channel>& channels, const Channel& channel) {
  return std::ranges::find(channels, channel) != channels.end();
}

TEST(Channels, TagsOfMicroBatchesAndOfTheExchangeStayApart) {
  EXPECT_EQ(channel_kind(0), ChannelKind::kForward);
  EXPECT_EQ(channel_kind(6), ChannelKind::kForward);
  EXPECT_EQ(channel_kind(7), ChannelKind::kBackward);
  EXPECT_EQ(channel_kind(kTiedGradientTag), ChannelKind::kTied);
  EXPECT_EQ(channel_kind(kTiedGradientTag + 1), ChannelKind::kTied);
}

TEST(Channels, NeighboursInARingAndTheEndsOfAPipelineHaveOneEachWay) {
  for (int size = 2; size <= 9; ++size) {
    const auto channels = channels_of(FabricUse::kPipeline, size);
    for (int one = 0; one < size; ++one)
      for (const ChannelKind kind : {ChannelKind::kForward, ChannelKind::kBackward}) {
        EXPECT_TRUE(has(channels, {one, (one + 1) % size, kind})) << one << " of " << size;
        EXPECT_TRUE(has(channels, {(one + 1) % size, one, kind})) << one << " of " << size;
      }
    EXPECT_TRUE(has(channels, {0, size - 1, ChannelKind::kTied}));
    EXPECT_TRUE(has(channels, {size - 1, 0, ChannelKind::kTied}));
  }
}

TEST(Channels, RanksThatSwapInTheExchangeHaveOneForBothWays) {
  for (int size = 2; size <= 9; ++size) {
    const auto channels = channels_of(FabricUse::kExchange, size);
    for (int bit = 1; bit < size; bit *= 2)
      for (int one = 0; one < size; ++one)
        EXPECT_EQ(has(channels, {one, one ^ bit, ChannelKind::kSwap}), one < (one ^ bit) && (one ^ bit) < size)
            << one << " of " << size;
  }
}

// Whoever makes a channel, or uses it for the first time, waits for the other side.
TEST(Channels, NobodyWaitsForEverWhileTheyAreMade) {
  for (const FabricUse use : {FabricUse::kPipeline, FabricUse::kExchange}) {
    for (int size = 2; size <= 33; ++size) {
      std::map<int, std::deque<Channel>> left;  // by rank
      for (const Channel& channel : channels_of(use, size)) {
        left[channel.from].push_back(channel);
        left[channel.to].push_back(channel);
      }
      for (bool moved = true; moved;) {
        moved = false;
        for (int rank = 0; rank < size; ++rank) {
          if (left[rank].empty()) continue;
          const Channel next = left[rank].front();
          const int other = next.from == rank ? next.to : next.from;
          if (left[other].front() != next) continue;
          left[rank].pop_front();
          left[other].pop_front();
          moved = true;
        }
      }
      for (const auto& [rank, channels] : left) EXPECT_TRUE(channels.empty()) << "rank " << rank << " of " << size;
    }
  }
}

// LibTorch has 32 streams for them: with more, two connections would wait for each other.
TEST(Channels, OfTheLargestGroupsAreFew) {
  const auto of_rank = [](FabricUse use, int size) {
    std::map<int, int> count;
    for (const Channel& channel : channels_of(use, size)) {
      ++count[channel.from];
      ++count[channel.to];
    }
    return std::ranges::max_element(count, {}, &std::pair<const int, int>::second)->second;
  };
  EXPECT_EQ(of_rank(FabricUse::kExchange, 1024), 10);
  EXPECT_LE(of_rank(FabricUse::kExchange, 1024) + 1 + of_rank(FabricUse::kPipeline, 64), 32);
}

TEST(Channels, EachIsMadeOnceAndInFewTurns) {
  for (const FabricUse use : {FabricUse::kPipeline, FabricUse::kExchange}) {
    const auto channels = channels_of(use, 64);
    EXPECT_EQ(std::set<Channel>(channels.begin(), channels.end()).size(), channels.size());
    std::map<int, int> turn;  // by rank: when it has made what came so far
    for (const Channel& channel : channels) {
      EXPECT_NE(channel.from, channel.to);
      turn[channel.from] = turn[channel.to] = std::max(turn[channel.from], turn[channel.to]) + 1;
    }
    for (const auto& [rank, turns] : turn) EXPECT_LE(turns, 16) << rank;
  }
}

TEST(Channels, ARankAloneHasNone) { EXPECT_TRUE(channels_of(FabricUse::kPipeline, 1).empty()); }

}  // namespace
}  // namespace titan::train::channels_test
