#include "libtrain/job/launch/restarts.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <unistd.h>

#include "tests/support/scratch_dir.h"

namespace titan::train::restarts_test {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

// The job is a shell script that sees in $1 which restart it is; "step N" in the folder is what it has saved.
class Restarts : public ::testing::Test {
 protected:
  Restarts() {
    options_.most = 3;
    options_.program = "/bin/sh";
    options_.words = [this](unsigned restart) {
      ++starts_;
      return std::vector<std::string>{"sh", "-c", script_, dir_.path(), std::to_string(restart)};
    };
    options_.newest = [this] { return newest_ ? newest_(starts_) : std::optional<std::uint64_t>(starts_); };
    options_.say = [this](const std::string& line) { said_.push_back(line); };
    options_.first_wait = std::chrono::milliseconds(1);
  }
  int run(const std::string& script) {
    script_ = script;
    return run_with_restarts(options_);
  }

  ScratchDir dir_;
  RestartOptions options_;
  std::string script_;
  unsigned starts_ = 0;
  std::function<std::optional<std::uint64_t>(unsigned)> newest_;
  std::vector<std::string> said_;
};

TEST_F(Restarts, GoOnUntilTheJobIsDone) {
  EXPECT_EQ(run("test $1 -eq 2 || exit 3"), 0);
  EXPECT_EQ(starts_, 3u);
  EXPECT_THAT(said_,
              ElementsAre(HasSubstr("restart 1 of 3 from step 1 now"), HasSubstr("restart 2 of 3 from step 2 now")));
}

TEST_F(Restarts, AreCounted) {
  EXPECT_EQ(run("exit 3"), 3);
  EXPECT_EQ(starts_, 4u);
  EXPECT_THAT(said_.back(), HasSubstr("not restarted: the 3 restarts are used up"));
}

TEST_F(Restarts, EndWhereNoNewerStepCame) {
  options_.most = 20;
  newest_ = [](unsigned start) { return start < 2 ? std::optional<std::uint64_t>() : 20; };
  EXPECT_EQ(run("exit 3"), 3);
  EXPECT_EQ(starts_, 5u) << "without a step, to step 20, at step 20 three times";
  EXPECT_THAT(said_.back(), HasSubstr("no step newer than step 20 came in 3 starts"));
}

TEST_F(Restarts, WaitOnlyWhereNoNewerStepCame) {
  options_.most = 9;
  options_.first_wait = std::chrono::milliseconds(500);
  const std::vector<std::uint64_t> newest{10, 20, 20, 30, 30, 30, 40, 50};  // before the first start, then behind each
  newest_ = [&](unsigned start) { return std::optional(newest[start]); };
  EXPECT_EQ(run("test $1 -eq 6 || exit 3"), 0);
  EXPECT_THAT(said_, ElementsAre(HasSubstr("from step 20 now"), HasSubstr("from step 20 in 0 s"),
                                 HasSubstr("from step 30 now"), HasSubstr("from step 30 in 0 s"),
                                 HasSubstr("from step 30 in 1 s"), HasSubstr("from step 40 now")));
}

TEST_F(Restarts, NeverFollowWhatASecondStartWouldMeetAgain) {
  for (const int code : {0, 2, 10, 11, 12, 13, 75, 130, 143}) {
    starts_ = 0;
    EXPECT_EQ(run("exit " + std::to_string(code)), code);
    EXPECT_EQ(starts_, 1u) << code;
  }
  EXPECT_THAT(said_, IsEmpty());
}

TEST_F(Restarts, ALauncherThatIsKilledHasFailed) {
  EXPECT_EQ(run("test $1 -eq 1 || kill -KILL $$"), 0);
  EXPECT_EQ(starts_, 2u);
}

TEST_F(Restarts, AStopIsPassedOnAndEndsThem) {
  EXPECT_EQ(run("trap 'exit 3' TERM; kill -TERM $PPID; while :; do sleep 0.02; done"), 3);
  EXPECT_EQ(starts_, 1u) << "the failure of a stopped job is no reason to go on";
}

TEST_F(Restarts, AStopBetweenTwoStartsEndsThem) {
  options_.first_wait = std::chrono::seconds(20);
  newest_ = [](unsigned) { return std::optional<std::uint64_t>(20); };
  options_.say = [](const std::string&) { kill(getpid(), SIGTERM); };
  EXPECT_EQ(run("exit 3"), 143);
  EXPECT_EQ(starts_, 1u);
}

}  // namespace
}  // namespace titan::train::restarts_test
