#include "libtrain/engine/parallel/run_store.h"

#include <gtest/gtest.h>

#include <iostream>

#include "tests/libtrain/engine/parallel/rank_group.h"

namespace titan::train::run_store_test {
namespace {

/// Asks before it connects, as every rank does that no launcher of ours told.
int be_asker() {
  const ConnectOptions options = test::connect_options();
  const std::string word = word_of_rank_0(options.env, options.init_timeout, [&] {
    std::cout << "asked itself" << std::endl;
    return "word of " + std::to_string(options.env.rank);
  });
  std::cout << "heard: " << word << "." << std::endl;
  return 0;
}

const test::TestRole asker("asker", be_asker);

TEST(RunStore, RankZeroAnswersForAllWhereTorchrunsAgentKeepsAStore) {
  test::RankGroup ranks("asker", 3, 1, {{"TORCHELASTIC_USE_AGENT_STORE", "True"}});
  ranks.expect_output_of_all("heard: word of 0.");
  ranks.expect_success();
  for (int rank = 1; rank < ranks.size(); ++rank)
    EXPECT_EQ(ranks[rank].output().find("asked itself"), std::string::npos) << ranks[rank].output();
}

TEST(RunStore, ARankAsksForItselfWhereNobodyAnswersInTime) {
  // Rank 0 never comes.
  test::RankGroup ranks("asker", 2, 1, {{"TORCHELASTIC_USE_AGENT_STORE", "True"}, {"TEST_INIT_MS", "1000"}}, {0});
  ASSERT_TRUE(ranks[1].wait_for_output("heard: word of 1.")) << ranks[1].output();
  test::RankGroup apart("asker", 2, 1);
  apart[0].wait_for_output("heard: word of 0.");
  ASSERT_TRUE(apart[1].wait_for_output("heard: word of 1.")) << "there is no store before rank 0 serves it";
}

}  // namespace
}  // namespace titan::train::run_store_test
