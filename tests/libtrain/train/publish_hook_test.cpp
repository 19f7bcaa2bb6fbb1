#include "libtrain/train/publish_hook.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "ckpt/base/fs.h"
#include "tests/support/files.h"

namespace titan::train::publish_hook_test {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

class Hook : public ::testing::Test {
 protected:
  PublishHook::Options options(const std::string& command, double limit = 60) {
    return {command, dir_ / "output", limit, [this](const std::string& text) { problems_.push_back(text); }};
  }
  std::string output() { return ckpt::testing::get_text(ckpt::posix_fs(), dir_ / "output"); }

  ckpt::testing::TempDir dir_;
  std::vector<std::string> problems_;
};

TEST_F(Hook, RunsOnceForEachPublishInOrder) {
  PublishHook hook(options("echo \"$TITAN_STEP $TITAN_CHECKPOINT\""));
  hook.published(10, "/run/step-00000010");
  hook.published(20, "/run/step-00000020");
  hook.finish(60);
  EXPECT_EQ(output(), "10 /run/step-00000010\n20 /run/step-00000020\n");
  EXPECT_TRUE(problems_.empty());
}

TEST_F(Hook, AFailureIsToldAndTheNextOneRuns) {
  PublishHook hook(options("echo $TITAN_STEP; test $TITAN_STEP = 20 || exit 7"));
  hook.published(10, "/a");
  hook.published(20, "/b");
  hook.finish(60);
  EXPECT_EQ(output(), "10\n20\n");
  EXPECT_THAT(problems_, ElementsAre(HasSubstr("for step 10 failed: exit code 7 (its output: ")));
}

TEST_F(Hook, ACommandThatTakesTooLongIsEndedWithItsChildren) {
  PublishHook hook(options("sleep 60 & sleep 60; echo late", 0.05));
  hook.published(10, "/a");
  hook.finish(60);
  EXPECT_THAT(problems_, ElementsAre(HasSubstr("for step 10 was ended: it took longer than")));
  EXPECT_EQ(output(), "");
}

TEST_F(Hook, TheEndOfARunWaitsForItsTimeAndNoLonger) {
  {
    PublishHook hook(options("sleep 60"));
    hook.published(10, "/a");
    hook.published(20, "/b");
    hook.finish(0.2);
  }
  EXPECT_THAT(problems_,
              ElementsAre(HasSubstr("for step 10 was ended: the run has ended"), HasSubstr("did not run for step 20")));
}

}  // namespace
}  // namespace titan::train::publish_hook_test
