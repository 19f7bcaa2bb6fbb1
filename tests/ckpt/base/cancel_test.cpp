#include "ckpt/base/cancel.h"
#include "ckpt/base/exit_code.h"

#include <gtest/gtest.h>

#include "ckpt/ops/cat.h"
#include "ckpt/ops/diff.h"
#include "ckpt/read/verifier.h"
#include "tests/support/failing_fs.h"
#include "tests/support/make_checkpoint.h"
#include "tests/support/mem_fs.h"

namespace titan::ckpt::cancel_test {
namespace {

TEST(Cancel, ATokenWithoutASourceNeverStops) {
  EXPECT_FALSE(CancelToken().stopped());
  EXPECT_TRUE(CancelToken().check().ok());
}

TEST(Cancel, TheFirstReasonCountsAndGivesTheExitCode) {
  CancelSource source;
  const CancelToken token(source);
  EXPECT_TRUE(token.check().ok());
  EXPECT_TRUE(source.request(StopReason::kTerminate));
  EXPECT_FALSE(source.request(StopReason::kInterrupt));
  EXPECT_TRUE(token.stopped());
  EXPECT_EQ(exit_code(token.check().code), 143);
  CancelSource other;
  EXPECT_TRUE(other.request(StopReason::kInterrupt));
  EXPECT_EQ(exit_code(CancelToken(other).check().code), 130);
}

class CancelOps : public ::testing::Test {
 protected:
  void SetUp() override {
    ASSERT_TRUE(testing::make_checkpoint(fs_, "/run/checkpoint", {.step = 10}).ok());
    ASSERT_TRUE(testing::make_checkpoint(fs_, "/run/checkpoint", {.step = 20, .seed = 2}).ok());
  }
  testing::MemFs fs_;
  CancelSource source_;
  CancelToken token_{source_};
};

TEST_F(CancelOps, VerifyStopsInTheMiddleOfTheWork) {
  std::uint64_t seen = 0, total = 0;
  const VerifyProgress stop_at_half = [&](std::uint64_t done, std::uint64_t all) {
    seen = done, total = all;
    if (done > all / 2) (void)source_.request(StopReason::kInterrupt);
  };
  // One thread: with several, all the work may be handed out by the time that half of it is done.
  EXPECT_EQ(verify_checkpoint(fs_, "/run/checkpoint/step-00000010", stop_at_half, token_, 1).status().code,
            Code::kInterrupted);
  EXPECT_LT(seen, total);
}

TEST_F(CancelOps, DiffStopsWhileReading) {
  DiffOptions options{"/run@10", "/run@20"};
  options.cancel = token_;
  options.progress = [&](std::uint64_t done, std::uint64_t total) {
    EXPECT_LT(done, total);
    (void)source_.request(StopReason::kTerminate);
  };
  EXPECT_EQ(diff_checkpoints(fs_, options).status().code, Code::kTerminated);
}

TEST_F(CancelOps, CatLeavesNoFile) {
  (void)source_.request(StopReason::kInterrupt);
  CatOptions options{"/run@10", "tok_embeddings.weight", "/x.npy"};
  options.cancel = token_;
  EXPECT_EQ(cat_tensor(fs_, options).status().code, Code::kInterrupted);
  const auto entries = fs_.list("/");
  ASSERT_TRUE(entries.ok());
  ASSERT_EQ(entries->size(), 1u);
  EXPECT_EQ(entries->front().name, "run");
}

}  // namespace
}  // namespace titan::ckpt::cancel_test
