#include "ckpt/ops/scrub.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>

#include "tests/support/failing_fs.h"
#include "tests/support/files.h"
#include "tests/support/make_checkpoint.h"
#include "tests/support/mem_fs.h"

namespace titan::ckpt::scrub_test {
namespace {

using namespace titan::ckpt::testing;  // NOLINT: the file is about these
using ::testing::HasSubstr;

class Scrub : public ::testing::Test {
 protected:
  Scrub() {
    for (const std::uint64_t step : {10, 20, 30}) {
      Synthetic made;
      made.step = step;
      EXPECT_TRUE(make_checkpoint(fs_, "/run/checkpoint", made).ok());
    }
    options_.run = "/run";
    options_.status = "/run/scrub.prom";
    options_.now = [] { return std::uint64_t{1000}; };
    options_.begin = [this](const std::string& path) { begun_.push_back(path.substr(path.size() - 2)); };
  }
  ScrubReport scrub() {
    begun_.clear();
    const auto report = scrub_run(fs_, options_);
    EXPECT_TRUE(report.ok()) << report.status().to_string();
    return report.ok() ? *report : ScrubReport{};
  }
  void damage() {
    const std::string path = "/run/checkpoint/step-00000020/model/shard-00000.h5";
    const std::byte changed = static_cast<std::byte>(get_text(fs_, path)[9000]) ^ std::byte{4};
    ASSERT_TRUE(fs_.overwrite(path, 9000, {&changed, 1}).ok());
  }

  MemFs fs_;
  ScrubOptions options_;
  std::vector<std::string> begun_;
};

TEST_F(Scrub, GoesThroughTheStepsAndSaysSo) {
  damage();
  const ScrubReport report = scrub();
  EXPECT_THAT(begun_, ::testing::ElementsAre("10", "20", "30"));
  EXPECT_EQ(report.verified.damage, 1u);
  const std::string text = get_text(fs_, options_.status);
  EXPECT_THAT(text, HasSubstr("titan_scrub_steps_verified{run=\"/run\"} 3\n"));
  EXPECT_THAT(text, HasSubstr("titan_scrub_damaged_places{run=\"/run\"} 1\n"));
  EXPECT_THAT(text, HasSubstr("titan_scrub_complete{run=\"/run\"} 1\n"));
  EXPECT_EQ(*parse_scrub(text), report.status);
}

TEST_F(Scrub, GoesOnWhereItWasStoppedAndThenBeginsAnew) {
  damage();
  CancelSource stop;
  options_.cancel = CancelToken(stop);
  options_.begin = [&](const std::string& path) {
    begun_.push_back(path.substr(path.size() - 2));
    if (begun_.size() == 3) stop.request(StopReason::kTerminate);
  };
  EXPECT_EQ(scrub_run(fs_, options_).status().code, Code::kTerminated);
  EXPECT_FALSE(parse_scrub(get_text(fs_, options_.status))->complete);
  options_.cancel = {};
  const ScrubReport rest = scrub();
  EXPECT_THAT(begun_, ::testing::ElementsAre("30"));
  EXPECT_EQ(rest.before, 2u);
  EXPECT_EQ(rest.status.done[1].damage, 1u) << "what the first call found";
  scrub();
  EXPECT_EQ(begun_.size(), 3u) << "the round was complete";
}

TEST_F(Scrub, AStepWithoutAManifestIsCountedOnceInARoundOfTwoCalls) {
  ASSERT_TRUE(fs_.remove_file("/run/checkpoint/step-00000010/manifest.json").ok());
  CancelSource stop;
  options_.cancel = CancelToken(stop);
  options_.begin = [&](const std::string& path) {
    begun_.push_back(path.substr(path.size() - 2));
    if (begun_.size() == 2) stop.request(StopReason::kTerminate);
  };
  EXPECT_EQ(scrub_run(fs_, options_).status().code, Code::kTerminated);
  options_.cancel = {};
  EXPECT_EQ(scrub().status.done.size(), 3u);
  const std::string text = get_text(fs_, options_.status);
  EXPECT_EQ(text.find("titan_scrub_step_damaged_places{run=\"/run\",step=\"10\""),
            text.rfind("titan_scrub_step_damaged_places{run=\"/run\",step=\"10\""));
}

TEST_F(Scrub, AFileThatIsNoStatusOfThisRunStaysAsItIs) {
  scrub();
  ScrubStatus other = *parse_scrub(get_text(fs_, options_.status));
  other.run = "/other";
  options_.status = "/status";
  const std::string lines = ckpt::scrub_text(*parse_scrub(get_text(fs_, "/run/scrub.prom")));
  for (const auto& [text, why] : std::map<std::string, std::string>{
           {ckpt::scrub_text(other), "/status is the status of the run in /other, not of /run"},
           {"titan_scrub_ is a word in my notes\n", "is no status of `scrub`"},
           {lines + "titan_step{run=\"/run\"} 4\n", "is no status of `scrub`"},
           {lines + ckpt::scrub_text(other), "is no status of `scrub`"},
           {"# HELP nothing\n", "is no status of `scrub`"},
           {std::string((std::size_t{16} << 20) + 1, '#'), "is no status of `scrub`"}}) {
    (void)fs_.remove_file(options_.status);
    ASSERT_TRUE(put_text(fs_, options_.status, text).ok());
    const Status refused = scrub_run(fs_, options_).status();
    EXPECT_EQ(refused.code, Code::kInvalid);
    EXPECT_THAT(refused.message, HasSubstr(why));
    EXPECT_TRUE(get_text(fs_, options_.status) == text);
  }
}

TEST_F(Scrub, AStatusThatMovedWithItsRunBeginsAnew) {
  scrub();
  ScrubStatus other = *parse_scrub(get_text(fs_, options_.status));
  other.run = "/before/it \"moved\"";
  other.complete = false;
  ASSERT_TRUE(fs_.remove_file(options_.status).ok());
  ASSERT_TRUE(put_text(fs_, options_.status, ckpt::scrub_text(other)).ok());
  EXPECT_EQ(*parse_scrub(get_text(fs_, options_.status)), other);
  scrub();
  EXPECT_EQ(begun_.size(), 3u);
  EXPECT_EQ(parse_scrub(get_text(fs_, options_.status))->run, "/run");
}

TEST_F(Scrub, AStepThatIsAnotherOneByNowIsVerified) {
  scrub();
  ScrubStatus status = *parse_scrub(get_text(fs_, options_.status));
  status.complete = false;
  status.done[0].id = {};
  ASSERT_TRUE(fs_.remove_file(options_.status).ok());
  ASSERT_TRUE(put_text(fs_, options_.status, ckpt::scrub_text(status)).ok());
  scrub();
  EXPECT_THAT(begun_, ::testing::ElementsAre("10"));
}

TEST_F(Scrub, FilesBesideTheStatusStay) {
  ASSERT_TRUE(put_text(fs_, "/run/scrub.prom.tmp", "mine").ok());
  ASSERT_TRUE(put_text(fs_, "/run/scrub.prom.tmp-0123456789ab", "of a call that was killed").ok());
  scrub();
  EXPECT_EQ(get_text(fs_, "/run/scrub.prom.tmp"), "mine");
  std::vector<std::string> names;
  const auto entries = fs_.list("/run");
  ASSERT_TRUE(entries.ok());
  for (const DirEntry& entry : *entries) names.push_back(entry.name);
  EXPECT_THAT(names, ::testing::UnorderedElementsAre("checkpoint", "scrub.prom", "scrub.prom.tmp"));
}

TEST_F(Scrub, AStatusThatCannotBeWrittenAnyMoreStopsNothing) {
  FailingFs failing(fs_);
  failing.arm({.op = Op::kPwrite, .path_part = "scrub.prom.", .k = 2, .repeat = Repeat::kSticky, .error = ENOSPC});
  const auto report = scrub_run(failing, options_);
  ASSERT_TRUE(report.ok()) << report.status().to_string();
  EXPECT_THAT(begun_, ::testing::ElementsAre("10", "20", "30"));
  EXPECT_FALSE(report->unwritten.ok());
  EXPECT_EQ(fs_.list("/run")->size(), 2u) << "no part of a status is left";
  failing.disarm();
  failing.arm({.op = Op::kPwrite, .path_part = "scrub.prom.", .error = ENOSPC});
  EXPECT_FALSE(scrub_run(failing, options_).ok()) << "not begun";
  EXPECT_EQ(fs_.list("/run")->size(), 2u);
}

TEST_F(Scrub, SleepsAsLongAsTheRateAsksFor) {
  double slept = 0;
  options_.rate = 1'000'000;
  options_.sleep = [&](double seconds) {
    EXPECT_LE(seconds, 0.2);
    slept += seconds;
  };
  const ScrubReport report = scrub();
  const double due = static_cast<double>(report.status.bytes) / 1e6;
  EXPECT_GT(report.status.bytes, 100'000u);
  EXPECT_GT(slept, 0.2 * due);
  EXPECT_LE(slept, 1.01 * due);
}

}  // namespace
}  // namespace titan::ckpt::scrub_test
