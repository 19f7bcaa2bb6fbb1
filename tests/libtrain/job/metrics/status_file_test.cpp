#include "libtrain/job/metrics/status_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "ckpt/base/fs_posix.h"
#include "ckpt/base/path.h"
#include "libtrain/job/run/non_finite.h"
#include "tests/support/failing_fs.h"
#include "tests/support/scratch_dir.h"

namespace titan::train::status_file_test {
namespace {

using namespace std::chrono_literals;
using ckpt::testing::FailingFs;
using ckpt::testing::Op;
using ::testing::HasSubstr;
using ::testing::Not;

StepMetrics step(std::uint64_t number) {
  StepMetrics made;
  made.step = number;
  made.loss = 2.5;
  made.lr = 1e-3;
  made.tokens = 128 * number;
  made.tps_total = 1000;
  return made;
}

TEST(StatusText, HasEachMetricWithItsTypeAndTheRunsLabel) {
  RunStatus status{"runs/\"a\"\\b"};
  status.step = step(7);
  status.durable = 5;
  status.durable_at = 100;
  status.save_failures = 2;
  const std::string text = status_text(status, 130.5);
  const std::string label = R"({run="runs/\"a\"\\b"} )";
  EXPECT_THAT(text, HasSubstr("# TYPE titan_step gauge\ntitan_step" + label + "7\n"));
  EXPECT_THAT(text, HasSubstr("titan_loss" + label + "2.5\n"));
  EXPECT_THAT(text, HasSubstr("# TYPE titan_tokens_total counter\ntitan_tokens_total" + label + "896\n"));
  EXPECT_THAT(text, HasSubstr("titan_last_durable_step" + label + "5\n"));
  EXPECT_THAT(text, HasSubstr("titan_last_durable_age_seconds" + label + "30.5\n"));
  EXPECT_THAT(text, HasSubstr("titan_save_failures_total" + label + "2\n"));
  EXPECT_THAT(text, HasSubstr("titan_status_timestamp_seconds" + label + "130.5\n"));
}

TEST(StatusText, SaysNothingOfWhatThereIsNot) {
  const std::string text = status_text({"run"}, 1);
  EXPECT_THAT(text, Not(HasSubstr("titan_step")));
  EXPECT_THAT(text, Not(HasSubstr("durable")));
}

TEST(StatusText, NumbersThatAreNotFinite) {
  RunStatus status{"run"};
  status.step = step(1);
  status.step->loss = std::numeric_limits<double>::quiet_NaN();
  status.step->grad_norm = std::numeric_limits<double>::infinity();
  EXPECT_THAT(status_text(status, 1), HasSubstr("titan_loss{run=\"run\"} NaN\n"));
  EXPECT_THAT(status_text(status, 1), HasSubstr("titan_gradient_norm{run=\"run\"} +Inf\n"));
}

class StatusFiles : public ::testing::Test {
 protected:
  StatusFiles()
      : background_({.what = "lines"}),
        file_(std::make_shared<StatusFile>(fs_, path_, RunStatus{"run"}, background_)) {}
  std::string text() {
    EXPECT_TRUE(background_.sync([] { return ckpt::ok_status(); }, 20s).ok());
    return read_text(path_);
  }

  ScratchDir dir_;
  const std::string path_ = dir_ / "status.prom";
  FailingFs fs_{ckpt::posix_fs()};
  BackgroundWriter background_;
  std::shared_ptr<StatusFile> file_;
};

TEST_F(StatusFiles, FilesBesideItStayAndWhatAKilledRunLeftGoes) {
  for (const char* name : {"status.prom.tmp", "status.prom.tmp-0123456789ab"}) dir_.write(name, "mine");
  file_ = std::make_shared<StatusFile>(fs_, path_, RunStatus{"run"}, background_);
  file_->step(step(1));
  EXPECT_THAT(text(), HasSubstr("titan_step{run=\"run\"} 1\n"));
  EXPECT_EQ(read_text(dir_ / "status.prom.tmp"), "mine");
  EXPECT_EQ(fs_.list(ckpt::parent_path(path_))->size(), 2u);
}

TEST_F(StatusFiles, TheFirstStepIsThereAtOnceTheNextWithinASecond) {
  file_->step(step(1));
  EXPECT_THAT(text(), HasSubstr("titan_step{run=\"run\"} 1\n"));
  fs_.clear_calls();
  for (int i = 2; i < 100; ++i) file_->step(step(static_cast<std::uint64_t>(i)));
  EXPECT_THAT(text(), HasSubstr("titan_step{run=\"run\"} 1\n"));
  EXPECT_EQ(fs_.count(Op::kRename), 0u) << "fast steps are not written each";
  file_->saved(99);
  EXPECT_THAT(text(), HasSubstr("titan_step{run=\"run\"} 99\n"));
  EXPECT_THAT(text(), HasSubstr("titan_last_durable_step{run=\"run\"} 99\n"));
}

TEST_F(StatusFiles, CountsFailures) {
  for (const char* name : {"save_failed", "save_failed", "save_begin"}) file_->event(name, {});
  for (const char* action : {"skip", "rollback", "stop"})
    file_->event("non_finite", event_fields(NonFinite{.loss = NAN}, action));
  const std::string now = text();
  EXPECT_THAT(now, HasSubstr("titan_save_failures_total{run=\"run\"} 2\n"));
  EXPECT_THAT(now, HasSubstr("titan_skips_total{run=\"run\"} 1\n"));
  EXPECT_THAT(now, HasSubstr("titan_rollbacks_total{run=\"run\"} 1\n"));
}

TEST_F(StatusFiles, AStoreThatRefusesItHoldsUpNothing) {
  file_->saved(1);
  EXPECT_THAT(text(), HasSubstr("titan_last_durable_step{run=\"run\"} 1\n"));
  fs_.arm({.op = Op::kRename, .path_part = "status", .repeat = ckpt::testing::Repeat::kSticky});
  file_->saved(2);
  EXPECT_THAT(text(), HasSubstr("titan_last_durable_step{run=\"run\"} 1\n")) << "the whole old one stays";
  fs_.disarm();
  file_->saved(3);
  EXPECT_THAT(text(), HasSubstr("titan_last_durable_step{run=\"run\"} 3\n"));
}

}  // namespace
}  // namespace titan::train::status_file_test
