#include "libtrain/engine/train/run_state.h"

#include <gtest/gtest.h>

#include <type_traits>

namespace titan::train::run_state_test {
namespace {

// Its parts hold references to each other: a copy or a moved one would look into the old one.
static_assert(!std::is_move_constructible_v<RunState> && !std::is_copy_constructible_v<RunState>);

TEST(RunState, HasTheConfigurationOfItsStartWhateverWasTyped) {
  TrainOptions options;
  options.loaded.config.training.steps = 5;
  RunState run(options);
  EXPECT_EQ(run.config().training.steps, 5);
  Start other;
  other.loaded.config.training.steps = 7;  // as a checkpoint has it that a start has loaded
  run.start = std::move(other);
  EXPECT_EQ(run.config().training.steps, 7);
  run.forget_start();
  EXPECT_EQ(run.config().training.steps, 5);
}

}  // namespace
}  // namespace titan::train::run_state_test
