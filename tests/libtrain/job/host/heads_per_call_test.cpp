#include "libtrain/job/host/heads_per_call.h"

#include <gtest/gtest.h>

#include <numeric>

namespace titan::train::heads_per_call_test {
namespace {

using Pieces = std::vector<std::int64_t>;
constexpr std::int64_t kH100 = 132;

TEST(HeadsPerCall, FillAnH100WithTheHeadsOf8B) {
  EXPECT_EQ(heads_per_call({.batch = 1, .heads = 32, .tokens = 8192, .group = 4}, kH100), (Pieces{12, 12, 4, 4}));
  EXPECT_EQ(heads_per_call({.batch = 1, .heads = 32, .tokens = 2048, .group = 4}, kH100), (Pieces{12, 12, 8}));
  // With several rows there are enough blocks.
  EXPECT_EQ(heads_per_call({.batch = 4, .heads = 32, .tokens = 8192, .group = 4}, kH100), (Pieces{32}));
}

TEST(HeadsPerCall, HeadsThatShareKeysStayTogetherAndNoneIsLeftOut) {
  for (const std::int64_t group : {1, 2, 4, 8})
    for (const std::int64_t batch : {1, 2, 3})
      for (const std::int64_t tokens : {1, 128, 1000, 8192, 131072})
        for (const std::int64_t processors : {1, 7, 108, 132}) {
          const Pieces pieces = heads_per_call({batch, 24, tokens, group}, processors);
          EXPECT_EQ(std::accumulate(pieces.begin(), pieces.end(), std::int64_t{0}), 24);
          for (const std::int64_t piece : pieces) EXPECT_TRUE(piece > 0 && piece % group == 0) << piece;
        }
  EXPECT_EQ(heads_per_call({.batch = 1, .heads = 4, .tokens = 64, .group = 4}, kH100), (Pieces{4}));
}

TEST(HeadsPerCall, FewTokensAreNotWorthAnotherCall) {
  EXPECT_EQ(heads_per_call({.batch = 1, .heads = 32, .tokens = 128, .group = 4}, kH100), (Pieces{32}));
}

}  // namespace
}  // namespace titan::train::heads_per_call_test
