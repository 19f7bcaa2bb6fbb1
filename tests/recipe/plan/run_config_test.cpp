#include "recipe/plan/run_config.h"

#include <gtest/gtest.h>

#include "recipe/keys/loader.h"
#include "tests/support/scratch_dir.h"

namespace titan::recipe::run_config_test {
namespace {

TEST(RunConfig, DimensionsMustMakeAModelUnlessWeightsMayBringSome) {
  const train::ScratchDir dir;
  dir.write("c.toml", "[model]\ndim = 64\nn_heads = 3\n");
  const std::string path = dir / "c.toml";
  EXPECT_EQ(load_run_config(path).status().code, ckpt::Code::kInvalid);
  EXPECT_TRUE(load_run_config(path, {"--checkpoint.initial_load_path=x"}).ok());
  EXPECT_TRUE(load_run_config(path, {"--model.n_heads=4"}).ok());
}

}  // namespace
}  // namespace titan::recipe::run_config_test
