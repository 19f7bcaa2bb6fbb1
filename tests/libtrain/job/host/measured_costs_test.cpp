#include "libtrain/job/host/measured_costs.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "ckpt/base/fs_posix.h"
#include "recipe/keys/config.h"
#include "tests/support/scratch_dir.h"

namespace titan::train::measured_costs_test {
namespace {

using testing::HasSubstr;

TEST(MeasuredCosts, AreStoredForAModelAndTakenForIt) {
  const ScratchDir scratch;
  recipe::Config config;
  config.job.dump_folder = scratch / "run";
  EXPECT_TRUE(take_measured_costs(ckpt::posix_fs(), config).ok());
  EXPECT_EQ(config.parallelism.stage_cost, "flops") << "nothing is asked for";

  config.parallelism.stage_cost = "measured";
  const ckpt::Status none = take_measured_costs(ckpt::posix_fs(), config);
  EXPECT_THAT(none.message, HasSubstr("there is no"));
  EXPECT_THAT(none.hint, HasSubstr("plan CONFIG --measure"));

  const std::string mine = scratch.write("run/stage_costs.toml.new/notes", "mine");
  for (const double layer : {4.0, 2.0}) {  // the second takes the place of the first
    const ckpt::Status stored = store_measured_costs(ckpt::posix_fs(), config, {0.5, layer, 7});
    ASSERT_TRUE(stored.ok()) << stored.to_string();
  }
  EXPECT_EQ(read_text(mine), "mine") << "what lies beside it is somebody's";
  recipe::Config taken = config;
  ASSERT_TRUE(take_measured_costs(ckpt::posix_fs(), taken).ok());
  EXPECT_EQ(taken.parallelism.stage_cost, "embedding=0.2500,layer=1,head=3.5000");

  config.model.vocab_size = 999;
  EXPECT_THAT(take_measured_costs(ckpt::posix_fs(), config).message, HasSubstr("vocabulary 999"));
}

}  // namespace
}  // namespace titan::train::measured_costs_test
