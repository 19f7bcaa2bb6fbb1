#include "libtrain/job/replay/child_process.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <thread>

#include "tests/support/scratch_dir.h"

namespace titan::train::child_process_test {
namespace {

class ChildProcess : public ::testing::Test {
 protected:
  ckpt::Result<int> run(const std::string& script, const ckpt::CancelToken& cancel = {}) {
    return run_and_wait("/bin/sh", {"sh", "-c", script}, dir_ / "log", cancel);
  }
  std::string log() const { return read_text(dir_ / "log"); }

  ScratchDir dir_;
};

TEST_F(ChildProcess, ReturnsTheCodeAndKeepsWhatWasPrinted) {
  EXPECT_EQ(*run("echo out; echo err >&2; exit 75"), 75);
  EXPECT_EQ(log(), "out\nerr\n");
  EXPECT_EQ(*run("kill -KILL $$"), 128 + 9);
}

TEST_F(ChildProcess, IsNoRankOfThisProcess) {
  setenv("RANK", "3", 1);
  EXPECT_EQ(*run("echo rank=$RANK"), 0);
  unsetenv("RANK");
  EXPECT_EQ(log(), "rank=\n");
}

TEST_F(ChildProcess, IsAskedToStopAndWaitedFor) {
  ckpt::CancelSource source;
  std::thread stopper([&] {
    while (log() != "ready\n") std::this_thread::sleep_for(std::chrono::milliseconds(5));
    (void)source.request(ckpt::StopReason::kInterrupt);
  });
  EXPECT_EQ(
      *run("trap 'echo asked; exit 75' TERM; echo ready; while :; do sleep 0.05; done", ckpt::CancelToken(source)), 75);
  stopper.join();
  EXPECT_EQ(log(), "ready\nasked\n");
}

TEST_F(ChildProcess, AProgramThatIsNotThere) {
  EXPECT_EQ(*run_and_wait("/nowhere", {"nowhere"}, dir_ / "log", {}), 127);
  EXPECT_EQ(run_and_wait("/bin/true", {"true"}, dir_ / "no/log", {}).status().code, ckpt::Code::kFailed);
}

}  // namespace
}  // namespace titan::train::child_process_test
