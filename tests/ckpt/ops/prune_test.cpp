#include "ckpt/ops/prune.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <random>

#include "ckpt/base/files.h"
#include "ckpt/base/fs_posix.h"
#include "ckpt/format/checkpoint_id.h"
#include "ckpt/format/manifest_codec.h"
#include "ckpt/format/member_names.h"
#include "ckpt/lock/run_lock.h"
#include "ckpt/read/reader.h"
#include "ckpt/read/snapshot.h"
#include "ckpt/run/retention.h"
#include "ckpt/run/run_check.h"
#include "ckpt/run/run_folder.h"
#include "ckpt/store/media_watch.h"
#include "tests/support/failing_fs.h"
#include "tests/support/files.h"
#include "tests/support/make_checkpoint.h"
#include "tests/support/meddling_fs.h"
#include "tests/support/mem_fs.h"

namespace titan::ckpt::prune_test {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using Steps = std::vector<std::uint64_t>;

StepEntry entry(std::uint64_t step, bool valid = true, bool full = true, bool pinned = false) {
  StepEntry made;
  made.step = step;
  made.path = "/run/checkpoint/" + step_name(step);
  made.validity = valid ? ok_status() : corrupt("broken");
  made.full = valid && full;
  made.pinned = pinned;
  return made;
}

RunScan scan_of(std::vector<StepEntry> steps) {
  RunScan scan;
  scan.steps = std::move(steps);
  return scan;
}

Steps gone(const RunScan& scan, const PruneRules& rules) {
  const std::vector<PruneVerdict> verdicts = plan_prune(scan, rules);
  Steps steps;
  for (std::size_t i = 0; i < scan.steps.size(); ++i)
    if (verdicts[i].goes) steps.push_back(scan.steps[i].step);
  return steps;
}

TEST(PlanPrune, KeepsWhatAnyRuleKeeps) {
  const RunScan scan = scan_of({entry(60), entry(50), entry(40), entry(30), entry(20), entry(10), entry(0)});
  EXPECT_EQ(gone(scan, {}), Steps{}) << "no rule";
  EXPECT_EQ(gone(scan, {.keep_last = 2}), (Steps{40, 30, 20, 10}));
  EXPECT_EQ(gone(scan, {.keep_last = 1, .keep_every = 20}), (Steps{50, 30, 10}));
  EXPECT_EQ(gone(scan, {.keep = {30}}), (Steps{50, 40, 20, 10})) << "the newest full one stays by itself";
  EXPECT_EQ(gone(scan, {.keep_last = 99}), Steps{});
}

TEST(PlanPrune, NeverTakesPinnedInvalidOrPartialSteps) {
  const RunScan scan = scan_of({entry(60, true, false), entry(50), entry(40, false), entry(30, true, true, true),
                                entry(20, true, false), entry(10)});
  EXPECT_EQ(gone(scan, {.keep_last = 1}), (Steps{10}));
  const std::vector<PruneVerdict> verdicts = plan_prune(scan, {.keep_last = 1});
  EXPECT_EQ(verdicts[0].why, "not a full checkpoint, never deleted");
  EXPECT_EQ(verdicts[1].why, "the last one");
  EXPECT_THAT(verdicts[2].why, HasSubstr("broken"));
  EXPECT_EQ(verdicts[3].why, "pinned by .keep");
}

TEST(PlanPrune, WaitsWhileTheNewestStepIsInvalid) {
  const RunScan scan = scan_of({entry(60, false), entry(50), entry(40), entry(30)});
  EXPECT_EQ(gone(scan, {.keep_last = 1}), Steps{});
}

TEST(PlanPrune, TakesWhatTheTrainersRetentionTakes) {
  const std::uint64_t seed = 20261122;
  SCOPED_TRACE("seed " + std::to_string(seed));
  std::mt19937_64 random(seed);
  for (int round = 0; round < 500; ++round) {
    RunScan scan;
    for (std::uint64_t step = random() % 12; step-- > 0;)
      scan.steps.push_back(entry(step * 10, random() % 4 > 0, random() % 4 > 0, random() % 5 == 0));
    const std::uint64_t keep = 1 + random() % 4;
    std::vector<RetainedStep> retained;
    for (const StepEntry& step : scan.steps)
      retained.push_back({step.step,
                          !step.validity.ok() ? Verdict::kDamaged
                          : step.full         ? Verdict::kProved
                                              : Verdict::kPartial,
                          step.pinned});
    Steps expected;
    if (!retention_must_wait(scan)) expected = select_expired(retained, {keep});
    std::reverse(expected.begin(), expected.end());
    ASSERT_EQ(gone(scan, {.keep_last = keep}), expected) << "round " << round;
  }
}

class PruneRun : public ::testing::Test {
 protected:
  void SetUp() override {
    for (const std::uint64_t step : {10, 20, 30, 40})
      ASSERT_TRUE(testing::make_checkpoint(fs_, kDir, {.step = step}).ok());
  }
  Steps left() {
    Steps steps;
    const auto scan = scan_run(fs_, kDir);
    for (const StepEntry& step : scan->steps)
      if (step.validity.ok()) steps.push_back(step.step);
    return steps;
  }
  void damage(std::uint64_t step, const std::string& member) {
    const std::string path = std::string(kDir) + "/" + step_name(step) + "/" + member;
    std::string text = testing::get_text(fs_, path);
    text[text.size() / 2] ^= 1;
    ASSERT_TRUE(fs_.remove_file(path).ok());
    ASSERT_TRUE(testing::put_text(fs_, path, text).ok());
  }
  /// Puts another checkpoint in the place of `step`, as far as its manifest tells.
  void replace(std::uint64_t step) {
    const std::string path = std::string(kDir) + "/" + step_name(step) + "/manifest.json";
    ASSERT_TRUE(fs_.remove_file(path).ok());
    ASSERT_TRUE(
        testing::put_text(fs_, path, testing::get_text(fs_, std::string(kDir) + "/step-00000030/manifest.json")).ok());
  }
  static constexpr const char* kDir = "/run/checkpoint";
  testing::MemFs fs_;
  PruneOptions options_{.run = "/run", .rules = {.keep_last = 2}};
};

TEST_F(PruneRun, DeletesAndCountsTheBytes) {
  const std::uint64_t before = fs_.free_bytes("/").value();
  const auto report = prune_run(fs_, options_);
  ASSERT_TRUE(report.ok()) << report.status().to_string();
  EXPECT_THAT(left(), ElementsAre(40, 30));
  EXPECT_EQ(report->verified, 40u);
  EXPECT_TRUE(report->failures.empty());
  ASSERT_EQ(report->steps.size(), 4u);
  EXPECT_TRUE(report->steps[3].deleted);
  EXPECT_EQ(report->bytes_gone, report->steps[2].bytes + report->steps[3].bytes);
  EXPECT_EQ(report->bytes_freed, report->bytes_gone);
  EXPECT_GE(fs_.free_bytes("/").value(), before);
  EXPECT_TRUE(scan_run(fs_, kDir)->leftovers.empty());
}

TEST_F(PruneRun, FilesOfUsersStayAndAreNeitherCountedNorLost) {
  const std::string step = std::string(kDir) + "/step-00000010",
                    damaged = std::string(kDir) + "/.damaged-step-00000020-aa";
  options_.dry_run = true;
  const std::uint64_t bytes = prune_run(fs_, options_)->bytes_freed;
  ASSERT_TRUE(testing::put_text(fs_, step + "/notes.txt", "mine").ok());
  ASSERT_TRUE(testing::put_text(fs_, damaged + "/samples/one", "mine, too").ok());
  options_.damaged = true;
  const auto plan = prune_run(fs_, options_);
  ASSERT_TRUE(plan.ok()) << plan.status().to_string();
  EXPECT_EQ(plan->bytes_freed, bytes);
  EXPECT_THAT(plan->steps.back().stay, ElementsAre("notes.txt"));
  EXPECT_THAT(plan->damaged.at(0).stay, ElementsAre("samples/one"));
  options_.dry_run = false;
  const auto report = prune_run(fs_, options_);
  ASSERT_TRUE(report.ok()) << report.status().to_string();
  EXPECT_TRUE(report->failures.empty());
  EXPECT_EQ(report->bytes_freed, bytes);
  EXPECT_EQ(testing::get_text(fs_, report->steps.back().kept + "/notes.txt"), "mine");
  EXPECT_EQ(testing::get_text(fs_, report->damaged.at(0).kept + "/samples/one"), "mine, too");
  EXPECT_EQ(fs_.stat(step).status().code, Code::kNotFound);
  EXPECT_EQ(fs_.stat(damaged).status().code, Code::kNotFound);
}

TEST_F(PruneRun, ADryRunSaysTheSameAndTouchesNothing) {
  options_.dry_run = true;
  const std::vector<std::string> before = testing::tree(fs_, "/run");
  const auto plan = prune_run(fs_, options_);
  ASSERT_TRUE(plan.ok());
  EXPECT_EQ(testing::tree(fs_, "/run"), before) << "not even a lock";
  options_.dry_run = false;
  const auto done = prune_run(fs_, options_);
  ASSERT_TRUE(done.ok());
  EXPECT_EQ(plan->bytes_freed, done->bytes_freed);
  for (std::size_t i = 0; i < 4; ++i) EXPECT_EQ(plan->steps[i].goes, done->steps[i].deleted);
}

TEST_F(PruneRun, ProvesTheNewestFullStepAndKeepsTheNextWhenItIsDamaged) {
  damage(40, "model/shard-00000.h5");  // same size: only its digests tell
  options_.rules.keep_last = 1;
  const auto report = prune_run(fs_, options_);
  ASSERT_TRUE(report.ok());
  EXPECT_EQ(report->blocked.code, Code::kCorrupt);
  EXPECT_THAT(report->blocked.to_string(), HasSubstr("damaged in 1 place"));
  EXPECT_THAT(left(), ElementsAre(40, 30, 20, 10)) << "the newest step is damaged: nothing may go";
}

TEST_F(PruneRun, DeletesNothingWhenTheNewestStepCannotBeReadWhole) {
  testing::FailingFs failing(fs_);
  failing.arm(
      {.op = testing::Op::kPread, .path_part = "step-00000040/model/shard", .repeat = testing::Repeat::kSticky});
  const auto report = prune_run(failing, options_);
  EXPECT_EQ(report.status().code, Code::kMediaError) << report.status().to_string();
  EXPECT_THAT(report.status().message, HasSubstr("nothing is deleted"));
  EXPECT_THAT(left(), ElementsAre(40, 30, 20, 10));
}

/// Drops the optimizer of a step: what is left is valid, but not full.
void make_partial(Fs& fs, const std::string& path, std::uint64_t step) {
  Manifest manifest = CheckpointReader::open(fs, path)->manifest();
  std::erase_if(manifest.components, [](const ComponentEntry& component) { return component.name == kOptimizer; });
  std::erase_if(manifest.files, [](const FileEntry& file) { return file.path.starts_with("optimizer/"); });
  for (ParameterRecord& record : manifest.parameters) record.slots.clear(), record.optimizer_step = 0;
  const Snapshot snapshot = testing::synthetic_snapshot({.step = step});
  manifest.id = checkpoint_id(manifest, snapshot.lr, snapshot.data, snapshot.train.tokens);
  ASSERT_TRUE(fs.remove_file(path + "/manifest.json").ok());
  ASSERT_TRUE(testing::put_text(fs, path + "/manifest.json", encode_manifest(manifest)).ok());
}

TEST_F(PruneRun, KeepsTheNextOlderStepWhenTheNewestFullOneTurnsOutDamaged) {
  make_partial(fs_, std::string(kDir) + "/step-00000040", 40);
  damage(30, "optimizer/shard-00000.h5");
  options_.rules = {.keep = {30}};
  const auto report = prune_run(fs_, options_);
  ASSERT_TRUE(report.ok()) << report.status().to_string();
  EXPECT_TRUE(report->blocked.ok());
  EXPECT_EQ(report->verified, 20u);
  EXPECT_THAT(left(), ElementsAre(40, 30, 20));
  EXPECT_THAT(report->steps[1].why, HasSubstr("damaged in 1 place"));
  EXPECT_EQ(report->steps[2].why, "the newest full checkpoint; verified");
}

TEST_F(PruneRun, DeletesNothingWhenEveryFullStepIsDamaged) {
  make_partial(fs_, std::string(kDir) + "/step-00000040", 40);
  for (const std::uint64_t step : {10, 20, 30}) damage(step, "optimizer/shard-00000.h5");
  options_.rules.keep_last = 1;
  const auto report = prune_run(fs_, options_);
  ASSERT_TRUE(report.ok());
  // 10 would be kept as the last valid one without being read.
  EXPECT_THAT(left(), ElementsAre(40, 30, 20, 10));
  EXPECT_FALSE(report->verified);
}

TEST_F(PruneRun, RefusesUnderALiveRun) {
  const auto lock = RunLock::take(fs_, "/run", this_process());
  ASSERT_TRUE(lock.ok());
  for (const char* run : {"/run", "/run/checkpoint"}) {
    options_.run = run;
    EXPECT_EQ(prune_run(fs_, options_).status().code, Code::kLocked) << run;
  }
  EXPECT_THAT(left(), ElementsAre(40, 30, 20, 10));
}

TEST_F(PruneRun, RefusesUnderALiveRunFurtherUp) {
  options_.run = "/live/a/ck";
  for (const std::uint64_t step : {10, 20})
    ASSERT_TRUE(testing::make_checkpoint(fs_, options_.run, {.step = step, .layers = 1}).ok());
  auto lock = RunLock::take(fs_, "/live", this_process());
  ASSERT_TRUE(lock.ok());
  EXPECT_EQ(prune_run(fs_, options_).status().code, Code::kLocked);
  EXPECT_EQ(scan_run(fs_, options_.run)->steps.size(), 2u);
  lock->reset();
  EXPECT_TRUE(prune_run(fs_, options_).ok());
}

TEST_F(PruneRun, RefusesAStepOfKeepThatIsNotThere) {
  options_.rules.keep = {20, 25};
  const auto report = prune_run(fs_, options_);
  EXPECT_EQ(report.status().code, Code::kNotFound);
  EXPECT_THAT(report.status().message, HasSubstr("no step 25"));
  EXPECT_THAT(left(), ElementsAre(40, 30, 20, 10));
}

TEST_F(PruneRun, CollectsWhatDeadRunsLeft) {
  ASSERT_TRUE(testing::put_text(fs_, "/run/checkpoint/step-00000050.tmp-00000000dead/model/x", "12345").ok());
  ASSERT_TRUE(testing::put_text(fs_, "/run/checkpoint/.trash-step-00000005-dead/y", "123").ok());
  options_.rules = {};
  const auto report = prune_run(fs_, options_);
  ASSERT_TRUE(report.ok());
  EXPECT_THAT(report->leftovers, ElementsAre(".trash-step-00000005-dead", "step-00000050.tmp-00000000dead"));
  EXPECT_EQ(report->bytes_freed, 8u);
  EXPECT_TRUE(scan_run(fs_, kDir)->leftovers.empty());
  EXPECT_THAT(left(), ElementsAre(40, 30, 20, 10));
}

// What a kill between the two renames of a rewrite without exchange leaves: the only copy of step 40 lies in the
// temporary.
TEST_F(PruneRun, PutsBackWhatADeadToolMovedAsideBeforeItDecides) {
  const std::string step = std::string(kDir) + "/step-00000040";
  ASSERT_TRUE(fs_.make_dir(step + ".tmp-rewrite").ok());
  ASSERT_TRUE(testing::put_text(fs_, step + ".tmp-rewrite/lock", "a dead tool").ok());
  ASSERT_TRUE(fs_.rename_noreplace(step, step + ".tmp-rewrite/old").ok());
  options_.rules = {};
  options_.rules.keep_last = 1;
  const auto report = prune_run(fs_, options_);
  ASSERT_TRUE(report.ok()) << report.status().to_string();
  EXPECT_THAT(report->restored, ElementsAre(step));
  EXPECT_THAT(left(), ElementsAre(40));
  EXPECT_TRUE(scan_run(fs_, kDir)->leftovers.empty());
}

TEST_F(PruneRun, ADryRunCountsWhatWouldBePutBack) {
  const std::string step = std::string(kDir) + "/step-00000040";
  ASSERT_TRUE(fs_.make_dir(step + ".tmp-rewrite").ok());
  ASSERT_TRUE(fs_.rename_noreplace(step, step + ".tmp-rewrite/old").ok());
  options_.dry_run = true;
  options_.rules.keep_last = 1;
  const auto report = prune_run(fs_, options_);
  ASSERT_TRUE(report.ok()) << report.status().to_string();
  EXPECT_THAT(report->restored, ElementsAre(step));
  EXPECT_EQ(report->verified, 40u);
  EXPECT_TRUE(report->leftovers.empty());
  ASSERT_EQ(report->steps.size(), 4u);
  EXPECT_TRUE(report->steps[1].goes);
  EXPECT_TRUE(fs_.stat(step + ".tmp-rewrite/old/manifest.json").ok());
}

TEST_F(PruneRun, DeletesNothingWhileAStepCannotBePutBack) {
  const std::string step = std::string(kDir) + "/step-00000040";
  ASSERT_TRUE(fs_.make_dir(step + ".tmp-rewrite").ok());
  ASSERT_TRUE(fs_.rename_noreplace(step, step + ".tmp-rewrite/old").ok());
  testing::FailingFs failing(fs_);
  failing.arm({.op = testing::Op::kRenameNoReplace, .path_part = "old", .error = EIO});
  options_.rules.keep_last = 1;
  const auto report = prune_run(failing, options_);
  EXPECT_EQ(report.status().code, Code::kFailed);
  EXPECT_THAT(left(), ElementsAre(40, 30, 20, 10)) << "40 where it lies";
  EXPECT_TRUE(fs_.stat(step + ".tmp-rewrite/old/manifest.json").ok());
}

TEST_F(PruneRun, DamagedStepsThatSavesMovedAsideGoOnlyWhenAskedForAndNeverPinnedOnes) {
  const std::string moved = std::string(kDir) + "/.damaged-step-00000020-aa",
                    pinned = std::string(kDir) + "/.damaged-step-00000030-bb";
  ASSERT_TRUE(testing::put_text(fs_, moved + "/model/shard-00000.h5", "12345").ok());
  ASSERT_TRUE(testing::put_text(fs_, pinned + "/.keep", "").ok());
  options_.rules = {};
  const auto kept = prune_run(fs_, options_);
  ASSERT_TRUE(kept.ok());
  EXPECT_TRUE(fs_.stat(moved).ok());
  options_.damaged = true;
  options_.dry_run = true;
  EXPECT_EQ(prune_run(fs_, options_)->bytes_freed, 5u);
  EXPECT_TRUE(fs_.stat(moved).ok());
  options_.dry_run = false;
  const auto report = prune_run(fs_, options_);
  ASSERT_TRUE(report.ok()) << report.status().to_string();
  ASSERT_EQ(report->damaged.size(), 2u);
  EXPECT_TRUE(report->damaged[0].deleted);
  EXPECT_FALSE(report->damaged[1].goes);
  EXPECT_EQ(report->damaged[1].why, "pinned by .keep");
  EXPECT_EQ(fs_.stat(moved).status().code, Code::kNotFound);
  EXPECT_TRUE(fs_.stat(pinned).ok());
  EXPECT_TRUE(scan_run(fs_, kDir)->leftovers.empty());
  EXPECT_THAT(left(), ElementsAre(40, 30, 20, 10));
}

// Somebody puts another checkpoint in the place of a step while the newest one is read.
TEST_F(PruneRun, AStepThatIsAnotherOneMeanwhileIsNotDeletedAndVouchesForNone) {
  options_.progress = [&](std::uint64_t done, std::uint64_t total) {
    if (done == total) replace(10);
  };
  const auto one = prune_run(fs_, options_);
  ASSERT_TRUE(one.ok()) << one.status().to_string();
  EXPECT_THAT(one->failures, ElementsAre(::testing::AllOf(HasSubstr("cannot delete"), HasSubstr("step-00000010"),
                                                          HasSubstr("expected id"), HasSubstr("found"))));
  EXPECT_FALSE(fs_.stat(std::string(kDir) + "/step-00000020").ok());
  EXPECT_TRUE(fs_.stat(std::string(kDir) + "/step-00000010").ok());

  options_.rules.keep_last = 1;
  options_.progress = [&](std::uint64_t done, std::uint64_t total) {
    if (done == total) replace(40);
  };
  const auto none = prune_run(fs_, options_);
  EXPECT_EQ(none.status().code, Code::kIncompatible) << none.status().to_string();
  EXPECT_THAT(none.status().message, HasSubstr("nothing more is deleted"));
  EXPECT_TRUE(fs_.stat(std::string(kDir) + "/step-00000030").ok());
}

// A damaged step may be all that is left of a run: most of it is whole.
TEST_F(PruneRun, DamagedStepsGoForAStepThatWasReadWholeOnly) {
  const std::string moved = std::string(kDir) + "/.damaged-step-00000020-aa";
  ASSERT_TRUE(testing::put_text(fs_, moved + "/model/shard-00000.h5", "12345").ok());
  options_.rules = {};
  options_.damaged = true;
  options_.dry_run = true;
  EXPECT_EQ(prune_run(fs_, options_)->verified, 40u);
  options_.dry_run = false;
  damage(40, "model/shard-00000.h5");
  for (const std::uint64_t step : {10, 20, 30})
    ASSERT_TRUE(remove_tree(fs_, std::string(kDir) + "/" + step_name(step)).ok());
  for (const bool gone : {false, true}) {
    if (gone) {
      ASSERT_TRUE(remove_tree(fs_, std::string(kDir) + "/step-00000040").ok());
    }
    const auto report = prune_run(fs_, options_);
    ASSERT_TRUE(report.ok()) << report.status().to_string();
    EXPECT_EQ(report->blocked.code, Code::kCorrupt);
    EXPECT_FALSE(report->damaged[0].goes);
    EXPECT_TRUE(fs_.stat(moved).ok());
  }
}

TEST_F(PruneRun, ADamagedStepStaysWhereTheNewestOneIsAnotherMeanwhile) {
  const std::string moved = std::string(kDir) + "/.damaged-step-00000020-aa";
  ASSERT_TRUE(testing::put_text(fs_, moved + "/model/shard-00000.h5", "12345").ok());
  options_.rules = {};
  options_.damaged = true;
  options_.progress = [&](std::uint64_t done, std::uint64_t total) {
    if (done == total) replace(40);
  };
  EXPECT_THAT(prune_run(fs_, options_).status().message, HasSubstr("nothing more is deleted"));
  EXPECT_TRUE(fs_.stat(moved + "/model/shard-00000.h5").ok());
}

/// For reading alone: counts members that are read from the store itself.
class Counting final : public MediaWatch {
 public:
  using MediaWatch::MediaWatch;
  Result<std::unique_ptr<File>> open_member(const std::string& folder, const std::string& member,
                                            Access access) override {
    if (access == Access::kUncached) ++uncached;
    return MediaWatch::open_member(folder, member, access);
  }
  std::atomic<std::size_t> uncached = 0;
};

// Memory may hold a write that never reached the disk.
TEST_F(PruneRun, TheNewestOneIsReadFromTheStore) {
  std::size_t members = 0;
  for (const std::string& name : testing::tree(fs_, std::string(kDir) + "/step-00000040"))
    members += name.back() != '/';
  Counting counting(fs_);
  options_.dry_run = true;
  ASSERT_TRUE(prune_run(counting, options_).ok());
  EXPECT_GE(counting.uncached, members);
}

TEST_F(PruneRun, OfADamagedStepThatIsALinkOnlyTheNameGoes) {
  ASSERT_TRUE(testing::put_text(fs_, "/store/x", "12345").ok());
  ASSERT_TRUE(fs_.symlink("/store", std::string(kDir) + "/.damaged-step-00000020-aa").ok());
  options_.rules = {};
  options_.damaged = true;
  const auto report = prune_run(fs_, options_);
  ASSERT_TRUE(report.ok()) << report.status().to_string();
  EXPECT_TRUE(report->damaged[0].deleted);
  EXPECT_EQ(report->bytes_gone, 0u);
  EXPECT_TRUE(fs_.stat("/store/x").ok());
}

// Reading the newest step whole may take an hour.
TEST_F(PruneRun, APinThatComesWhileItReadsTheNewestStepCounts) {
  const std::string damaged = std::string(kDir) + "/.damaged-step-00000005-aa";
  ASSERT_TRUE(testing::put_text(fs_, damaged + "/model/x", "12345").ok());
  options_.damaged = true;
  options_.begin = [&](const std::string&) {
    ASSERT_TRUE(testing::put_text(fs_, std::string(kDir) + "/step-00000010/.keep", "").ok());
    ASSERT_TRUE(testing::put_text(fs_, damaged + "/.keep", "").ok());
  };
  const auto report = prune_run(fs_, options_);
  ASSERT_TRUE(report.ok()) << report.status().to_string();
  EXPECT_THAT(left(), ElementsAre(40, 30, 10));
  EXPECT_FALSE(report->steps[3].goes);
  EXPECT_EQ(report->steps[3].why, "pinned by .keep meanwhile");
  EXPECT_EQ(report->bytes_gone, report->steps[2].bytes);
  EXPECT_TRUE(fs_.stat(damaged).ok());
}

TEST_F(PruneRun, OfAStepThatIsALinkOnlyTheNameGoes) {
  ASSERT_TRUE(make_dirs(fs_, "/store").ok());
  ASSERT_TRUE(fs_.rename_noreplace(std::string(kDir) + "/step-00000010", "/store/step-00000010").ok());
  ASSERT_TRUE(fs_.symlink("/store/step-00000010", std::string(kDir) + "/step-00000010").ok());
  options_.rules.keep_last = 3;
  const auto report = prune_run(fs_, options_);
  ASSERT_TRUE(report.ok()) << report.status().to_string();
  EXPECT_THAT(left(), ElementsAre(40, 30, 20));
  EXPECT_EQ(report->bytes_freed, 0u);
  EXPECT_TRUE(CheckpointReader::open(fs_, "/store/step-00000010").ok());
}

// An interrupted prune leaves no gap: what is gone is older than all that is left.
TEST_F(PruneRun, DeletesTheOldestFirst) {
  testing::FailingFs recording(fs_);
  ASSERT_TRUE(prune_run(recording, options_).ok());
  Steps order;
  for (const testing::Call& call : recording.calls())
    if (call.op == testing::Op::kRenameNoReplace && call.path.find("/step-") != std::string::npos)
      order.push_back(std::stoull(call.path.substr(call.path.size() - 8)));
  EXPECT_EQ(order, (Steps{10, 20}));
}

TEST_F(PruneRun, StopsBetweenTwoFilesOfAStep) {
  CancelSource source;
  options_.cancel = CancelToken(source);
  testing::MeddlingFs meddling(fs_);
  meddling.before_calls([&](const char* call, const std::string&) {
    if (std::string_view(call) == "unlink") (void)source.request(StopReason::kTerminate);
  });
  EXPECT_EQ(prune_run(meddling, options_).status().code, Code::kTerminated);
  EXPECT_THAT(left(), ElementsAre(40, 30, 20)) << "the first has another name already";
  EXPECT_EQ(scan_run(fs_, kDir)->leftovers.size(), 1u);
}

TEST_F(PruneRun, StopsBetweenTwoSteps) {
  CancelSource source;
  options_.cancel = CancelToken(source);
  options_.progress = [&](std::uint64_t done, std::uint64_t total) {
    if (done == total) (void)source.request(StopReason::kInterrupt);
  };
  EXPECT_EQ(prune_run(fs_, options_).status().code, Code::kInterrupted);
  EXPECT_THAT(left(), ElementsAre(40, 30, 20, 10));
}

TEST(PruneLinks, BytesAreFreedWithTheLastName) {
  testing::TempDir dir;
  Fs& fs = posix_fs();
  const std::string run = dir / "checkpoint";
  for (const std::uint64_t step : {10, 20, 30}) ASSERT_TRUE(testing::make_checkpoint(fs, run, {.step = step}).ok());
  const std::string shard = run + "/step-00000010/model/shard-00000.h5";
  ASSERT_EQ(std::system(("ln " + shard + " " + (dir / "elsewhere.h5")).c_str()), 0);
  const std::uint64_t size = fs.stat(shard)->size;
  const auto report = prune_run(fs, {.run = dir.path(), .rules = {.keep_last = 1}, .dry_run = true});
  ASSERT_TRUE(report.ok());
  EXPECT_EQ(report->bytes_gone - report->bytes_freed, size);
  // Both names are members of steps that go: then it is freed. It replaces a file of the same size.
  const std::string other = run + "/step-00000020/model/shard-00000.h5";
  ASSERT_EQ(fs.stat(other)->size, size);
  ASSERT_EQ(std::system(("mv -f " + (dir / "elsewhere.h5") + " " + other).c_str()), 0);
  const auto both = prune_run(fs, {.run = dir.path(), .rules = {.keep_last = 1}, .dry_run = true});
  ASSERT_TRUE(both.ok());
  EXPECT_EQ(both->bytes_gone, both->bytes_freed + size) << "two names, one file";
  EXPECT_EQ(both->bytes_gone, report->bytes_gone);
  // A file with another name in a step's folder is a user's, and stays.
  ASSERT_EQ(std::system(("ln " + shard + " " + run + "/step-00000020/extra.h5").c_str()), 0);
  const auto kept = prune_run(fs, {.run = dir.path(), .rules = {.keep_last = 1}, .dry_run = true});
  ASSERT_TRUE(kept.ok());
  EXPECT_EQ(kept->bytes_freed, both->bytes_freed - size);
}

TEST(Prune, AStepThatCouldNotBeDeletedIsNotCalledDeleted) {
  testing::MemFs memory;
  for (const std::uint64_t step : {10, 20, 30})
    ASSERT_TRUE(testing::make_checkpoint(memory, "/run/checkpoint", {.step = step}).ok());
  testing::FailingFs failing(memory);
  failing.arm({.op = testing::Op::kRenameNoReplace, .path_part = "step-00000010"});
  const auto report = prune_run(failing, {.run = "/run", .rules = {.keep_last = 1}});
  ASSERT_TRUE(report.ok()) << report.status().to_string();
  ASSERT_TRUE(failing.fired());
  EXPECT_FALSE(report->steps[2].deleted);
  EXPECT_TRUE(report->steps[1].deleted);
  EXPECT_EQ(report->failures.size(), 1u);
  EXPECT_TRUE(memory.stat("/run/checkpoint/step-00000010").ok());
}

// The k-th call fails, for every k: the newest full step stays valid, no half-deleted folder looks like a step, and a
// second run finishes the work.
class PruneFaults : public ::testing::TestWithParam<testing::Repeat> {};

TEST_P(PruneFaults, EveryFailingCallLeavesAUsableRun) {
  int rounds = 0;
  for (std::uint64_t k = 1;; ++k) {
    testing::MemFs memory;
    for (const std::uint64_t step : {10, 20, 30})
      ASSERT_TRUE(testing::make_checkpoint(memory, "/run/checkpoint", {.step = step, .layers = 1}).ok());
    ASSERT_TRUE(testing::put_text(memory, "/run/checkpoint/step-00000040.tmp-00000000dead/x", "12345").ok());
    testing::FailingFs fs(memory);
    fs.arm({.k = k, .repeat = GetParam()});
    const auto report = prune_run(fs, {.run = "/run", .rules = {.keep_last = 1}});
    const bool fired = fs.fired();
    fs.disarm();
    const auto scan = scan_run(memory, "/run/checkpoint");
    ASSERT_TRUE(scan.ok());
    ASSERT_FALSE(scan->steps.empty()) << "k " << k;
    EXPECT_EQ(scan->steps.front().step, 30u) << "k " << k;
    for (const StepEntry& step : scan->steps)
      EXPECT_TRUE(step.validity.ok()) << "k " << k << ": " << step.validity.message;
    const auto again = prune_run(memory, {.run = "/run", .rules = {.keep_last = 1}});
    ASSERT_TRUE(again.ok()) << "k " << k << ": " << again.status().to_string();
    EXPECT_EQ(testing::tree(memory, "/run/checkpoint"),
              [&] {
                std::vector<std::string> expected{"step-00000030/"};
                for (const std::string& name : testing::tree(memory, "/run/checkpoint/step-00000030"))
                  expected.push_back("step-00000030/" + name);
                expected.insert(expected.begin(), {"latest", "run.lock"});
                return expected;
              }())
        << "k " << k;
    ++rounds;
    if (!fired) {
      ASSERT_TRUE(report.ok());
      break;
    }
  }
  EXPECT_GT(rounds, 50);
}

INSTANTIATE_TEST_SUITE_P(Repeats, PruneFaults, ::testing::Values(testing::Repeat::kOnce, testing::Repeat::kSticky),
                         [](const auto& info) { return info.param == testing::Repeat::kOnce ? "Once" : "Sticky"; });

}  // namespace
}  // namespace titan::ckpt::prune_test
