#include "libtrain/engine/parallel/links/channels.h"

#include <algorithm>
#include <deque>
#include <map>
#include <set>

#include <gtest/gtest.h>

#include "libtrain/engine/parallel/links/tags.h"
#include "libtrain/job/reduction/stage_exchange.h"
#include "recipe/plan/run_plan.h"
#include "tests/libtrain/support/llama_shapes.h"

namespace titan::train::channels_test {
namespace {

bool has(const std::vector<Channel>& channels, const Channel& channel) {
  return std::ranges::find(channels, channel) != channels.end();
}

TEST(Channels, TagsOfMicroBatchesAndOfTheExchangeStayApart) {
  EXPECT_EQ(channel_kind(0), ChannelKind::kForward);
  EXPECT_EQ(channel_kind(6), ChannelKind::kForward);
  EXPECT_EQ(channel_kind(7), ChannelKind::kBackward);
  EXPECT_EQ(channel_kind(kTiedGradientTags), ChannelKind::kTied);
  EXPECT_EQ(channel_kind(kTiedGradientTags + 1), ChannelKind::kTied);
}

TEST(Channels, NeighboursInARingAndTheEndsOfAPipelineHaveOneEachWay) {
  for (int size = 2; size <= 9; ++size) {
    const auto channels = pipeline_channels(size);
    for (int one = 0; one < size; ++one)
      for (const ChannelKind kind : {ChannelKind::kForward, ChannelKind::kBackward}) {
        EXPECT_TRUE(has(channels, {one, (one + 1) % size, kind})) << one << " of " << size;
        EXPECT_TRUE(has(channels, {(one + 1) % size, one, kind})) << one << " of " << size;
      }
    EXPECT_TRUE(has(channels, {0, size - 1, ChannelKind::kTied}));
    EXPECT_TRUE(has(channels, {size - 1, 0, ChannelKind::kTied}));
  }
}

TEST(Channels, RanksThatSwapHaveOneForBothWays) {
  EXPECT_EQ(swap_channel(5, 2), (Channel{2, 5, ChannelKind::kSwap}));
  EXPECT_EQ(swap_channel(2, 5), swap_channel(5, 2));
}

/// What each of `size` ranks makes, in its order: those of a pipeline, or of the swaps of a model's exchange.
std::map<int, std::deque<Channel>> of_ranks(FabricUse use, int size) {
  std::map<int, std::deque<Channel>> made;
  if (use == FabricUse::kPipeline) {
    for (const Channel& channel : pipeline_channels(size))
      for (const int rank : {channel.from, channel.to}) made[rank].push_back(channel);
    return made;
  }
  const recipe::RunPlan plan = test::llama_plan("1B", static_cast<std::uint32_t>(size), size);
  const ckpt::Ownership owners = recipe::owners_of(plan);
  for (int rank = 0; rank < size; ++rank) {
    const StageExchange exchange = plan_stage_exchange(plan, owners, 0, static_cast<std::uint32_t>(rank));
    for (const int peer : group_peers(exchange, false).stage.swaps) made[rank].push_back(swap_channel(rank, peer));
  }
  return made;
}

// Whoever makes a channel, or uses it for the first time, waits for the other side.
TEST(Channels, NobodyWaitsForEverWhileTheyAreMade) {
  for (const FabricUse use : {FabricUse::kPipeline, FabricUse::kExchange}) {
    for (int size = 2; size <= 33; ++size) {
      std::map<int, std::deque<Channel>> left = of_ranks(use, size);
      for (bool moved = true; moved;) {
        moved = false;
        for (int rank = 0; rank < size; ++rank) {
          if (left[rank].empty()) continue;
          const Channel next = left[rank].front();
          const int other = next.from == rank ? next.to : next.from;
          if (left[other].empty() || left[other].front() != next) continue;
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
  const auto most = [](FabricUse use, int size) {
    std::size_t count = 0;
    for (const auto& [rank, channels] : of_ranks(use, size)) count = std::max(count, channels.size());
    return count;
  };
  EXPECT_EQ(most(FabricUse::kExchange, 1024), 10u);
  EXPECT_LE(most(FabricUse::kExchange, 1000), 9u);
  EXPECT_LE(most(FabricUse::kExchange, 1024) + 1 + most(FabricUse::kPipeline, 64), 32u);
}

TEST(Channels, EachIsMadeOnceAndInFewTurns) {
  const auto channels = pipeline_channels(64);
  EXPECT_EQ(std::set<Channel>(channels.begin(), channels.end()).size(), channels.size());
  std::map<int, int> turn;  // by rank: when it has made what came so far
  for (const Channel& channel : channels) {
    EXPECT_NE(channel.from, channel.to);
    turn[channel.from] = turn[channel.to] = std::max(turn[channel.from], turn[channel.to]) + 1;
  }
  for (const auto& [rank, turns] : turn) EXPECT_LE(turns, 16) << rank;
}

TEST(Channels, ARankAloneHasNone) { EXPECT_TRUE(pipeline_channels(1).empty()); }

}  // namespace
}  // namespace titan::train::channels_test
