#include "ckpt/run/retention.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <thread>

#include "ckpt/base/files.h"
#include "ckpt/format/member_names.h"
#include "tests/support/failing_fs.h"
#include "tests/support/files.h"
#include "tests/support/make_checkpoint.h"
#include "tests/support/meddling_fs.h"
#include "tests/support/mem_fs.h"

namespace titan::ckpt::retention_test {
namespace {

using ::testing::AllOf;
using ::testing::Contains;
using ::testing::ElementsAre;
using testing::FailingFs;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using testing::MemFs;
using testing::Op;
using Steps = std::vector<std::uint64_t>;

constexpr Verdict kUnknown = Verdict::kUnknown, kProved = Verdict::kProved, kSaved = Verdict::kSaved,
                  kWhole = Verdict::kWhole, kPartial = Verdict::kPartial, kDamaged = Verdict::kDamaged;

TEST(SelectExpired, KeepsTheNewestProvedOrWholeOnes) {
  const std::vector<RetainedStep> steps{{5, kProved}, {4, kWhole}, {3, kWhole}, {2, kProved}, {1, kWhole}};
  EXPECT_EQ(select_expired(steps, {0}), Steps{});
  EXPECT_EQ(select_expired(steps, {1}), (Steps{1, 2, 3, 4}));
  EXPECT_EQ(select_expired(steps, {3}), (Steps{1, 2}));
  EXPECT_EQ(select_expired(steps, {5}), Steps{});
  EXPECT_EQ(select_expired(steps, {9}), Steps{});
}

TEST(SelectExpired, NeitherCountsNorDeletesWhatNoResumeCouldTake) {
  const std::vector<RetainedStep> steps{{6, kDamaged}, {5, kPartial}, {4, kProved},
                                        {3, kUnknown}, {2, kWhole},   {1, kDamaged}};
  EXPECT_EQ(select_expired(steps, {2}), Steps{});
  EXPECT_EQ(select_expired(steps, {1}), Steps{2});
}

TEST(SelectExpired, SparesPinsAndStepZeroWhichCountAmongTheNewest) {
  const std::vector<RetainedStep> steps{{40, kProved}, {30, kWhole}, {20, kWhole, true}, {10, kWhole}, {0, kWhole}};
  EXPECT_EQ(select_expired(steps, {1}), (Steps{10, 30}));
  EXPECT_EQ(select_expired(steps, {3}), Steps{10});
}

TEST(SelectExpired, NeverTakesTheNewestProvedOneHoweverManyLookWhole) {
  const std::vector<RetainedStep> steps{{9, kWhole}, {8, kWhole}, {3, kProved}, {2, kProved}};
  EXPECT_EQ(select_expired(steps, {1}), (Steps{2, 8}));
  const std::vector<RetainedStep> unproved{{9, kWhole}, {8, kWhole}};
  EXPECT_EQ(select_expired(unproved, {1}), Steps{}) << "nothing goes before a save has succeeded";
}

TEST(SelectExpired, KeepsMilestonesAndTheBestByLossBesidesTheLatest) {
  const std::vector<RetainedStep> steps{{60, kProved, false, 3.0}, {50, kWhole, false, 1.0},
                                        {40, kWhole, false, 1.0},  {30, kWhole},
                                        {20, kWhole, false, 2.0},  {10, kDamaged, false, 0.1}};
  EXPECT_EQ(select_expired(steps, {1, 0, 0}), (Steps{20, 30, 40, 50}));
  EXPECT_EQ(select_expired(steps, {1, 15, 0}), (Steps{20, 40, 50}));
  EXPECT_EQ(select_expired(steps, {1, 0, 1}), (Steps{20, 30, 40})) << "of equal losses the newer step";
  EXPECT_EQ(select_expired(steps, {1, 0, 3}), Steps{30});
  EXPECT_EQ(select_expired(steps, {2, 20, 1}), Steps{30});
  EXPECT_EQ(select_expired(steps, {0, 0, 1}), Steps{}) << "all are kept";
}

TEST(StepToProve, IsTheNewestSavedOneWhereNothingElseWouldVouchForTheRun) {
  const auto asked = [](const std::vector<RetainedStep>& steps, std::uint64_t keep) {
    return step_to_prove(steps, select_expired(steps, {keep}));
  };
  EXPECT_EQ(asked({{3, kSaved}, {2, kSaved}}, 1), 3u);
  EXPECT_EQ(asked({{3, kSaved}, {2, kProved}}, 1), 3u) << "the proved one would go";
  EXPECT_EQ(asked({{3, kSaved}, {2, kWhole}, {1, kWhole}}, 2), 3u) << "a look proves nothing";
  EXPECT_EQ(asked({{4, kDamaged}, {3, kSaved}, {2, kSaved}}, 1), 3u);
  EXPECT_EQ(asked({{3, kSaved}, {2, kSaved}, {1, kSaved}}, 2), std::nullopt);
  EXPECT_EQ(asked({{3, kSaved}, {2, kProved}, {1, kSaved}}, 2), std::nullopt);
  EXPECT_EQ(asked({{3, kProved}, {2, kSaved}}, 1), std::nullopt);
  EXPECT_EQ(asked({{3, kSaved}, {2, kSaved, true}, {1, kSaved}}, 1), std::nullopt) << "two stay";
  EXPECT_EQ(asked({{3, kSaved}, {2, kSaved}}, 2), std::nullopt) << "nothing goes";
}

class RunRetention : public ::testing::Test {
 protected:
  void make(const Steps& steps) {
    for (const std::uint64_t step : steps) {
      const auto published = testing::make_checkpoint(fs_, kDir, {.step = step});
      ASSERT_TRUE(published.ok());
      ids_[step] = published->id;
    }
  }
  std::string path(std::uint64_t step) const { return join_path(kDir, step_name(step)); }
  void pin(std::uint64_t step) { ASSERT_TRUE(testing::put_text(fs_, path(step) + "/.keep", "").ok()); }
  void rot(std::uint64_t step) {
    std::byte byte{};
    const std::string member = path(step) + "/optimizer/shard-00000.h5";
    ASSERT_TRUE(fs_.open_read(member).value()->pread(4100, {&byte, 1}).ok());
    byte ^= std::byte{1};
    ASSERT_TRUE(fs_.overwrite(member, 4100, {&byte, 1}).ok());
  }
  // Another checkpoint lies under the name of `step` from now on, as a copy of `other`.
  void put_in_place_of(std::uint64_t step, std::uint64_t other) {
    ASSERT_TRUE(remove_tree(fs_, path(step)).ok());
    ASSERT_TRUE(testing::copy_tree(fs_, path(other), fs_, path(step)));
  }
  RetentionOptions options(std::uint64_t keep) {
    return {kDir,
            {keep},
            {},
            [this](const std::string& name, const std::string& kept) {
              deleted_.push_back(kept.empty() ? name : name + " " + kept);
            },
            [this](const std::string& problem) { problems_.push_back(problem); }};
  }
  Steps left() {
    Steps steps;
    const auto entries = fs_.list(kDir);
    for (const DirEntry& entry : *entries)
      if (const auto step = parse_step_name(entry.name)) steps.push_back(*step);
    return steps;
  }

  static constexpr const char* kDir = "/run/checkpoint";
  MemFs fs_;
  std::map<std::uint64_t, Digest> ids_;
  std::vector<std::string> deleted_, problems_;
};

TEST_F(RunRetention, DeletesInTheBackgroundAfterASave) {
  make({10, 20, 30, 40});
  Retention retention(fs_, options(2));
  retention.saved(40, ids_[40], true);
  retention.finish();
  EXPECT_EQ(left(), (Steps{30, 40}));
  EXPECT_THAT(deleted_, ElementsAre("step-00000010", "step-00000020"));
  EXPECT_THAT(problems_, IsEmpty());
}

TEST_F(RunRetention, FilesOfUsersOutliveTheirStepAndAreNamed) {
  make({10, 20, 30});
  ASSERT_TRUE(testing::put_text(fs_, path(10) + "/notes/why.md", "mine").ok());
  Retention retention(fs_, options(2));
  retention.saved(30, ids_[30], true);
  retention.finish();
  EXPECT_EQ(left(), (Steps{20, 30}));
  ASSERT_EQ(deleted_.size(), 1u);
  const std::string kept = deleted_[0].substr(deleted_[0].find(' ') + 1);
  EXPECT_EQ(testing::get_text(fs_, kept + "/notes/why.md"), "mine");
  EXPECT_THAT(problems_, IsEmpty());
}

TEST_F(RunRetention, APinThatComesWhileOtherStepsAreDeletedCounts) {
  make({10, 20, 30, 40});
  RetentionOptions pinning = options(1);
  pinning.deleted = [this](const std::string& name, const std::string&) {
    deleted_.push_back(name);
    if (name == "step-00000010") pin(20);
  };
  Retention retention(fs_, pinning);
  retention.saved(40, ids_[40], true);
  retention.finish();
  EXPECT_EQ(left(), (Steps{20, 40}));
  EXPECT_THAT(deleted_, ElementsAre("step-00000010", "step-00000030"));
}

TEST_F(RunRetention, AStepWithADamagedJsonMemberFillsNoPlace) {
  make({10, 20, 30});
  const std::string member = path(20) + "/dataloader.json";
  std::string text = testing::get_text(fs_, member);
  text[text.size() / 2] ^= 1;
  ASSERT_TRUE(fs_.remove_file(member).ok());
  ASSERT_TRUE(testing::put_text(fs_, member, text).ok());
  Retention retention(fs_, options(2));
  retention.saved(30, ids_[30], true);
  retention.finish();
  EXPECT_EQ(left(), (Steps{10, 20, 30}));
}

// k = 1, a damaged newer step, and a run that goes on from before it: each save used to delete itself.
TEST_F(RunRetention, AStepThatLoadingFoundDamagedFillsNoPlace) {
  make({2, 4, 10});
  pin(2);
  Retention retention(fs_, options(1));
  retention.judge(10, Verdict::kDamaged);
  retention.judge(2, Verdict::kProved);
  retention.saved(4, ids_[4], true);
  retention.finish();
  EXPECT_EQ(left(), (Steps{2, 4, 10}));
  make({6});
  retention.saved(6, ids_[6], true);
  retention.finish();
  EXPECT_EQ(left(), (Steps{2, 6, 10}));
}

TEST_F(RunRetention, TheOnlyProvedStepStaysBesideTwoDamagedOnes) {
  make({1, 2, 3});
  Retention retention(fs_, options(1));
  retention.judge(3, Verdict::kDamaged);
  retention.saved(2, ids_[2], true);
  retention.finish();
  EXPECT_EQ(left(), (Steps{2, 3}));
}

TEST_F(RunRetention, StructuralDamageIsSeenWithoutHavingLoaded) {
  make({1, 2, 3, 4});
  ASSERT_TRUE(fs_.resize(path(3) + "/model/shard-00000.h5", 10).ok());
  Retention retention(fs_, options(2));
  retention.saved(4, ids_[4], true);
  retention.finish();
  EXPECT_EQ(left(), (Steps{2, 3, 4})) << "2 is the second whole one";
}

TEST_F(RunRetention, LooksAtAnUnknownStepOnce) {
  make({10, 20, 30});
  FailingFs log(fs_);
  Retention retention(log, options(9));
  retention.saved(30, ids_[30], true);
  retention.finish();
  log.clear_calls();
  retention.pass();
  std::vector<std::string> paths;
  for (const testing::Call& call : log.calls()) paths.push_back(call.path);
  std::vector<std::string> expected{kDir};
  for (const std::uint64_t step : {10, 20, 30})
    for (const char* name : {"/manifest.json", "/.keep"}) expected.push_back(path(step) + name);
  EXPECT_EQ(paths, expected) << "names, pins, and whether the manifests are the same files";
}

TEST_F(RunRetention, AStepThatCannotBeJudgedJustNowIsKeptAndJudgedLater) {
  make({10, 20, 30});
  FailingFs failing(fs_);
  failing.arm({.op = Op::kOpenRead, .path_part = "step-00000010", .error = EIO});
  Retention retention(failing, options(2));
  retention.saved(30, ids_[30], true);
  retention.finish();
  EXPECT_EQ(left(), (Steps{10, 20, 30}));
  retention.saved(30, ids_[30], true);
  retention.finish();
  EXPECT_EQ(left(), (Steps{20, 30}));
}

TEST_F(RunRetention, TrashOfAFailedDeletionGoesWithTheNextSave) {
  make({10, 20});
  FailingFs failing(fs_);
  failing.arm({.op = Op::kRemoveFile, .error = EBUSY});
  Retention retention(failing, options(1));
  retention.saved(20, ids_[20], true);
  retention.finish();
  EXPECT_THAT(problems_, ElementsAre(HasSubstr(".trash-step-00000010")));
  EXPECT_THAT(testing::tree(fs_, kDir), Contains(::testing::StartsWith(".trash-step-00000010")));
  retention.saved(20, ids_[20], true);
  retention.finish();
  EXPECT_THAT(testing::tree(fs_, kDir), ::testing::Not(Contains(::testing::StartsWith(".trash-"))));
}

TEST_F(RunRetention, DeletesNothingOnceTheRunIsSomebodyElses) {
  make({10, 20});
  RetentionOptions lost = options(1);
  lost.still_ours = [] { return locked("taken over"); };
  Retention retention(fs_, lost);
  retention.saved(20, ids_[20], true);
  retention.finish();
  EXPECT_EQ(left(), (Steps{10, 20}));
  EXPECT_THAT(problems_, ElementsAre("taken over"));
}

TEST_F(RunRetention, WhatIsInUseGoesOnceItIsReleased) {
  make({10, 20, 30});
  std::atomic<std::uint64_t> used = 10;
  RetentionOptions used_ones = options(1);
  used_ones.in_use = [&](std::uint64_t step) { return step == used; };
  Retention retention(fs_, used_ones);
  retention.saved(30, ids_[30], true);
  retention.finish();
  EXPECT_EQ(left(), (Steps{10, 30}));
  used = 0;
  retention.release();
  EXPECT_TRUE(retention.finish());
  EXPECT_EQ(left(), (Steps{30}));
  retention.release();
  EXPECT_FALSE(retention.busy()) << "nothing was left for anybody";
}

TEST_F(RunRetention, AWaitForItCanBeGivenUp) {
  make({10, 20});
  std::atomic<bool> may_go = false;
  RetentionOptions slow = options(1);
  slow.still_ours = [&] {
    while (!may_go) std::this_thread::yield();
    return ok_status();
  };
  Retention retention(fs_, slow);
  retention.saved(20, ids_[20], true);
  EXPECT_FALSE(retention.finish([] { return true; }));
  EXPECT_TRUE(retention.busy());
  may_go = true;
  EXPECT_TRUE(retention.finish([] { return false; }));
  EXPECT_EQ(left(), (Steps{20}));
}

TEST_F(RunRetention, KeepingAllTouchesNothing) {
  make({10, 20});
  FailingFs log(fs_);
  Retention retention(log, options(0));
  retention.saved(20, ids_[20], true);
  retention.finish();
  EXPECT_THAT(log.calls(), IsEmpty());
}

TEST_F(RunRetention, AFailedListingIsAProblemAndNothingGoes) {
  make({10, 20});
  FailingFs failing(fs_);
  failing.arm({.op = Op::kList, .error = EIO});
  Retention retention(failing, options(1));
  retention.saved(20, ids_[20], true);
  retention.finish();
  EXPECT_EQ(left(), (Steps{10, 20}));
  EXPECT_THAT(problems_, ElementsAre(HasSubstr(kDir)));
}

// k = 1: all that is left would be a step of which one leaf in a hundred was read.
TEST_F(RunRetention, TheOlderStepStaysUntilTheNewerOneIsRead) {
  make({10, 20});
  rot(20);
  Retention retention(fs_, options(1));
  retention.saved(10, ids_[10], false);
  retention.saved(20, ids_[20], false);
  retention.finish();
  EXPECT_EQ(left(), (Steps{10, 20}));
  EXPECT_THAT(problems_, ElementsAre(AllOf(HasSubstr("step-00000020"), HasSubstr("older steps stay"))));
  make({30});
  retention.saved(30, ids_[30], false);
  retention.finish();
  EXPECT_EQ(left(), (Steps{20, 30})) << "damaged ones are never deleted";
}

TEST_F(RunRetention, AReadThatIsCutOffDeletesNothing) {
  make({10, 20});
  FailingFs failing(fs_);
  failing.arm({.op = Op::kPread, .path_part = "step-00000020/optimizer", .error = EIO});
  Retention retention(failing, options(1));
  retention.saved(20, ids_[20], false);
  retention.finish();
  EXPECT_EQ(left(), (Steps{10, 20}));
  EXPECT_THAT(problems_, ElementsAre(HasSubstr("step-00000020")));
  retention.saved(20, ids_[20], false);
  retention.finish();
  EXPECT_EQ(left(), Steps{20});
}

TEST_F(RunRetention, AnotherCheckpointInTheStepsPlaceFillsNoneAndIsNotDeleted) {
  make({10, 20, 30, 40, 50});
  Retention retention(fs_, options(2));
  for (const std::uint64_t step : {10, 20, 30, 40}) retention.judge(step, kProved, ids_[step]);
  put_in_place_of(40, 30);
  retention.pass();
  EXPECT_EQ(left(), (Steps{30, 40, 50})) << "50 and 30 are the newest two";
  EXPECT_THAT(problems_, ElementsAre(AllOf(HasSubstr("step-00000040"), HasSubstr("expected id " + ids_[40].hex()),
                                           HasSubstr("found " + ids_[30].hex()))));
}
TEST_F(RunRetention, ACopyOfAProvedStepIsNotProved) {
  make({10, 20, 30});
  Retention retention(fs_, options(2));
  retention.judge(20, kProved, ids_[20]);
  retention.pass();
  EXPECT_EQ(left(), (Steps{20, 30}));
  make({40});
  put_in_place_of(40, 20);
  put_in_place_of(20, 40);  // with the id that it had
  ASSERT_TRUE(remove_tree(fs_, path(40)).ok());
  make({10, 40});
  retention.pass();
  EXPECT_EQ(left(), (Steps{10, 20, 30, 40})) << "nothing is left that this process has proved, so nothing goes";
  EXPECT_THAT(problems_, IsEmpty());
}

// Somebody acts while earlier ones are deleted.
TEST_F(RunRetention, AStepThatIsAnotherOneMeanwhileStaysAndNothingGoesForTheSakeOfOne) {
  for (const std::uint64_t replaced : {20, 40}) {
    make({10, 20, 30, 40});
    RetentionOptions meddled = options(1);
    meddled.deleted = [&](const std::string& name, const std::string&) {
      if (name == "step-00000010") put_in_place_of(replaced, 30);
    };
    Retention retention(fs_, meddled);
    retention.saved(40, ids_[40], true);
    retention.finish();
    EXPECT_EQ(left(), replaced == 20 ? (Steps{20, 40}) : (Steps{20, 30, 40}));
    ASSERT_TRUE(remove_tree(fs_, kDir).ok());
  }
}

}  // namespace
}  // namespace titan::ckpt::retention_test
