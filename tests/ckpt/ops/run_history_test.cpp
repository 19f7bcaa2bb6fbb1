#include "ckpt/ops/run_history.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/make_checkpoint.h"
#include "tests/support/mem_fs.h"

namespace titan::ckpt::run_history_test {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

Attempt attempt(std::uint32_t number, std::uint64_t first, std::uint64_t last, std::vector<std::string> changed = {}) {
  Attempt made;
  made.number = number;
  made.first_step = first;
  made.last_step = last;
  made.changed = std::move(changed);
  return made;
}

Manifest step(std::uint64_t number, Settings config) {
  Manifest made;
  made.step = number;
  made.config = std::move(config);
  return made;
}

// Four starts; no step of the third is there.
class HistoryOfRun : public ::testing::Test {
 protected:
  HistoryOfRun() {
    state_.attempts = {attempt(1, 1, 20), attempt(2, 21, 40, {"optimizer.lr: 0.1 -> 0.2"}), attempt(3, 41, 50),
                       attempt(4, 51, 60)};
    steps_ = {step(10, {{"checkpoint.interval", "10"}, {"optimizer.lr", "0.1"}}),
              step(20, {{"checkpoint.interval", "10"}, {"optimizer.lr", "0.1"}}),
              step(40, {{"checkpoint.interval", "10"}, {"optimizer.lr", "0.2"}}),
              step(60, {{"checkpoint.interval", "5"}, {"metrics.log_freq", "2"}, {"optimizer.lr", "0.2"}})};
  }
  RunHistory read() {
    std::vector<const Manifest*> steps;
    for (const Manifest& one : steps_) steps.push_back(&one);
    return history_of(state_, steps);
  }

  TrainState state_;
  std::vector<Manifest> steps_;
};

TEST_F(HistoryOfRun, HasStepsAndChangesOfEachStart) {
  const RunHistory history = read();
  ASSERT_EQ(history.attempts.size(), 4u);
  EXPECT_THAT(history.attempts[0].saved, ElementsAre(10, 20));
  EXPECT_THAT(history.attempts[0].changes, IsEmpty());
  EXPECT_THAT(history.attempts[1].changes, ElementsAre(KeyChange{"optimizer.lr", "0.1", "0.2", true}))
      << "an allowed change is no setting besides";
  EXPECT_TRUE(history.attempts[2].config.empty());
  EXPECT_EQ(history.attempts[3].against, 2u);
  EXPECT_THAT(history.attempts[3].changes, ElementsAre(KeyChange{"checkpoint.interval", "10", "5", false},
                                                       KeyChange{"metrics.log_freq", std::nullopt, "2", false}));
}

TEST_F(HistoryOfRun, ToolsAreNamed) {
  steps_[1].writer = "titan-ckpt lr set";
  steps_[1].derived_from = DerivedFrom{digest_of("x"), 20, "/elsewhere"};
  EXPECT_THAT(read().attempts[0].tools, ElementsAre(HasSubstr("step 20: titan-ckpt lr set made it of /elsewhere")));
}

TEST_F(HistoryOfRun, BlameNamesTheStartThatSetAKey) {
  const auto origins = blame_key(read(), "optimizer.lr");
  ASSERT_TRUE(origins.ok());
  ASSERT_EQ(origins->size(), 2u);
  EXPECT_EQ((*origins)[0].entry, 1u);
  EXPECT_EQ((*origins)[0].change.after, "0.2");
  EXPECT_TRUE((*origins)[0].change.allowed);
  EXPECT_EQ((*origins)[1].entry, 0u);
  EXPECT_EQ((*origins)[1].change, (KeyChange{"optimizer.lr", std::nullopt, "0.1", false}));
}

TEST_F(HistoryOfRun, BlameSaysBetweenWhichStartsWhereNoStepOfThemIsKept) {
  const auto origins = blame_key(read(), "checkpoint.interval");
  ASSERT_TRUE(origins.ok());
  EXPECT_EQ((*origins)[0].entry, 3u);
  EXPECT_EQ((*origins)[0].since, 3u) << "attempt 3 or 4";
}

TEST_F(HistoryOfRun, BlameKnowsAllowedChangesOfStartsWithoutSteps) {
  state_.attempts[2].changed = {"checkpoint.interval: 10 -> 5"};
  const auto origins = blame_key(read(), "checkpoint.interval");
  ASSERT_TRUE(origins.ok());
  ASSERT_EQ(origins->size(), 2u) << "the first configuration that shows it did not set it";
  EXPECT_EQ((*origins)[0].entry, 2u);
  EXPECT_EQ((*origins)[0].since, 3u);
}

TEST_F(HistoryOfRun, BlameOfWhatTheRunBeganWithWhereItsFirstStepsAreGone) {
  steps_.erase(steps_.begin(), steps_.begin() + 2);
  const auto origins = blame_key(read(), "optimizer.lr");
  ASSERT_TRUE(origins.ok());
  ASSERT_EQ(origins->size(), 2u);
  EXPECT_EQ((*origins)[1].change.after, "0.1");
}

TEST_F(HistoryOfRun, BlameOfAnUnknownKeyNamesTheNearest) {
  const Status status = blame_key(read(), "optimizer.lrr").status();
  EXPECT_EQ(status.code, Code::kInvalid);
  EXPECT_THAT(status.hint, HasSubstr("optimizer.lr"));
}

TEST_F(HistoryOfRun, IsReadFromTheNewestStepThatHasOne) {
  testing::MemFs fs;
  for (const std::uint64_t number : {10, 20}) {
    testing::Synthetic made;
    made.step = number;
    ASSERT_TRUE(testing::make_checkpoint(fs, "/run/checkpoint", made).ok());
  }
  ASSERT_TRUE(fs.remove_file("/run/checkpoint/step-00000020/manifest.json").ok());
  const auto history = read_history(fs, "/run");
  ASSERT_TRUE(history.ok()) << history.status().to_string();
  EXPECT_EQ(history->newest, "/run/checkpoint/step-00000010");
  ASSERT_TRUE(fs.remove_file("/run/checkpoint/step-00000010/manifest.json").ok());
  const Status none = read_history(fs, "/run").status();
  EXPECT_EQ(none.code, Code::kNotFound);
  EXPECT_EQ(none.causes.size(), 2u);
}

}  // namespace
}  // namespace titan::ckpt::run_history_test
