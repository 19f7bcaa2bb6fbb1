#include "ckpt/ops/pin.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "ckpt/ops/prune.h"
#include "tests/support/make_checkpoint.h"
#include "tests/support/mem_fs.h"

namespace titan::ckpt::pin_test {
namespace {

using namespace titan::ckpt::testing;  // NOLINT: the file is about these
using ::testing::HasSubstr;

class Pin : public ::testing::Test {
 protected:
  Pin() {
    for (const std::uint64_t step : {10, 20, 30}) {
      Synthetic made;
      made.step = step;
      EXPECT_TRUE(make_checkpoint(fs_, "/run/checkpoint", made).ok());
    }
  }
  bool pinned(int step) { return is_pinned(fs_, "/run/checkpoint/step-000000" + std::to_string(step)); }

  MemFs fs_;
};

TEST_F(Pin, KeepsStepsFromPruneUntilTheyAreUnpinned) {
  const auto steps = pin_steps(fs_, {"/run@10..20"}, true);
  ASSERT_TRUE(steps.ok()) << steps.status().to_string();
  ASSERT_EQ(steps->size(), 2u);
  EXPECT_TRUE((*steps)[0].changed);
  EXPECT_TRUE(pinned(10) && pinned(20) && !pinned(30));
  PruneOptions options;
  options.run = "/run";
  options.rules.keep_last = 1;
  ASSERT_TRUE(prune_run(fs_, options).ok());
  EXPECT_TRUE(fs_.stat("/run/checkpoint/step-00000010").ok());
  ASSERT_TRUE(pin_steps(fs_, {"/run@10"}, false).ok());
  ASSERT_TRUE(prune_run(fs_, options).ok());
  EXPECT_FALSE(fs_.stat("/run/checkpoint/step-00000010").ok());
  EXPECT_TRUE(fs_.stat("/run/checkpoint/step-00000020").ok());
}

TEST_F(Pin, SaysWhatWasSoAlready) {
  EXPECT_FALSE((*pin_steps(fs_, {"/run@10"}, false))[0].changed);
  EXPECT_TRUE((*pin_steps(fs_, {"/run@10"}, true))[0].changed);
  EXPECT_FALSE((*pin_steps(fs_, {"/run@10"}, true))[0].changed);
  EXPECT_TRUE((*pin_steps(fs_, {"/run@10"}, false))[0].changed);
}

TEST_F(Pin, ChangesNothingWhereOneIsNotThere) {
  EXPECT_EQ(pin_steps(fs_, {"/run@10", "/run@11"}, true).status().code, Code::kNotFound);
  EXPECT_FALSE(pinned(10));
  ASSERT_TRUE(fs_.make_dir("/other").ok());
  const Status status = pin_steps(fs_, {"/run@10", "/other"}, true).status();
  EXPECT_THAT(status.message, HasSubstr("no checkpoint at /other"));
  EXPECT_FALSE(pinned(10));
}

TEST_F(Pin, ADamagedStepCanBePinned) {
  ASSERT_TRUE(fs_.remove_file("/run/checkpoint/step-00000020/manifest.json").ok());
  ASSERT_TRUE(pin_steps(fs_, {"/run@20"}, true).ok());
  EXPECT_TRUE(pinned(20));
}

}  // namespace
}  // namespace titan::ckpt::pin_test
