#include "ckpt/run/run_folder.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>

#include "ckpt/base/files.h"
#include "ckpt/format/member_names.h"
#include "ckpt/run/recover.h"
#include "ckpt/run/run_check.h"
#include "ckpt/run/run_resolve.h"
#include "tests/support/failing_fs.h"
#include "tests/support/files.h"
#include "tests/support/mem_fs.h"

namespace titan::ckpt::run_folder_test {
namespace {

using ::testing::AllOf;
using testing::Call;
using ::testing::ElementsAre;
using testing::FailingFs;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using testing::MemFs;
using testing::Op;
using testing::put_text;
using testing::tree;

Manifest manifest_of(std::uint64_t step, std::vector<std::string> components) {
  Manifest manifest;
  manifest.step = step;
  for (std::string& name : components) {
    ComponentEntry entry;
    entry.name = std::move(name);
    manifest.components.push_back(std::move(entry));
  }
  return manifest;
}

Manifest full(std::uint64_t step) {
  return manifest_of(step, {"model", "optimizer", "lr_scheduler", "dataloader", "train_state"});
}

/// A run in memory whose steps are valid by decree: "full", "weights", or the message of what is wrong.
class Run : public ::testing::Test {
 protected:
  Run() { EXPECT_TRUE(make_dirs(fs, dir).ok()); }

  void step(std::uint64_t number, const std::string& what) {
    ASSERT_TRUE(put_text(fs, join_path(dir, step_name(number)) + "/manifest.json", "{}").ok());
    states[join_path(dir, step_name(number))] = what;
  }
  void pin(std::uint64_t number) { ASSERT_TRUE(put_text(fs, join_path(dir, step_name(number)) + "/.keep", "").ok()); }

  StepCheck check() {
    return [this](const std::string& path) -> Result<Manifest> {
      checked.push_back(path);
      const std::string what = states.at(path);
      const std::uint64_t number = *parse_step_name(path.substr(path.rfind('/') + 1));
      if (what == "full") return full(number);
      if (what == "weights") return manifest_of(number, {"model", "train_state"});
      if (what == "other step") return full(number + 1);
      if (what == "newer format") return incompatible(what);
      if (what == "unreadable") return failed(what);
      return corrupt(what);
    };
  }
  RunScan scan() {
    Result<RunScan> result = scan_run(fs, dir, check());
    EXPECT_TRUE(result.ok()) << result.status().to_string();
    return *std::move(result);
  }
  MemFs fs;
  std::string dir = "/runs/a/checkpoint";
  std::map<std::string, std::string> states;
  std::vector<std::string> checked;
};

TEST(StepName, HasOneSpellingOnly) {
  EXPECT_EQ(step_name(0), "step-00000000");
  EXPECT_EQ(step_name(1000), "step-00001000");
  EXPECT_EQ(step_name(123456789), "step-123456789");
  for (std::uint64_t step :
       {std::uint64_t{0}, std::uint64_t{7}, std::uint64_t{99'999'999}, std::uint64_t{100'000'000}, ~std::uint64_t{0}})
    EXPECT_EQ(parse_step_name(step_name(step)), step);
  for (const char* name : {"", "step-", "step-1", "step-0000001", "step-000000001", "step-00000001 ", " step-00000001",
                           "step-0000000a", "step-00000001.backup", "foo-step-00000001", "Step-00000001",
                           "step-+0000001", "step--0000001", "step-00000001/", "step-99999999999999999999"})
    EXPECT_EQ(parse_step_name(name), std::nullopt) << name;
}

TEST_F(Run, ScanSortsNewestFirstAndTellsLeftoversFromForeignThings) {
  for (std::uint64_t number : {9, 10, 2}) step(number, "full");
  for (const char* name : {"step-00000011.tmp-0123456789ab", ".trash-step-00000001-x", ".trash-probe-0123456789ab-a",
                           ".trash-probe-mine", "step-12", "foo-step-00000001", "step-00000001.backup",
                           "step-00000001.tmp-", "notes.tmp-1", ".trash-", "latest.d"})
    ASSERT_TRUE(fs.make_dir(join_path(dir, name)).ok());
  ASSERT_TRUE(put_text(fs, dir + "/step-00000100", "a file").ok());
  ASSERT_TRUE(put_text(fs, dir + "/.trash-file", "").ok());
  ASSERT_TRUE(put_text(fs, dir + "/latest", "step-00000010\n").ok());
  RunScan found = scan();
  ASSERT_EQ(found.steps.size(), 3u);
  EXPECT_EQ(found.steps[0].step, 10u);
  EXPECT_EQ(found.steps[1].step, 9u);
  EXPECT_EQ(found.steps[2].step, 2u);
  EXPECT_EQ(found.steps[0].path, dir + "/step-00000010");
  EXPECT_THAT(found.leftovers,
              ElementsAre(".trash-probe-0123456789ab-a", ".trash-step-00000001-x", "step-00000011.tmp-0123456789ab"));
  EXPECT_THAT(found.foreign,
              ElementsAre(".trash-", ".trash-file", ".trash-probe-mine", "foo-step-00000001", "latest.d", "notes.tmp-1",
                          "step-00000001.backup", "step-00000001.tmp-", "step-00000100", "step-12"));
}

TEST_F(Run, ScanOfAMissingFolderIsEmptyButAnUnreadableOneIsAnError) {
  Result<RunScan> none = scan_run(fs, "/nowhere", check());
  ASSERT_TRUE(none.ok());
  EXPECT_TRUE(none->steps.empty());
  FailingFs failing(fs);
  failing.arm({.op = Op::kList});
  EXPECT_EQ(scan_run(failing, dir, check()).status().code, Code::kMediaError);
}

TEST_F(Run, ScanMarksPinsAndWhatIsFull) {
  step(1, "full");
  step(2, "weights");
  step(3, "broken");
  pin(1);
  RunScan found = scan();
  EXPECT_TRUE(found.steps[2].pinned);
  EXPECT_TRUE(found.steps[2].full);
  EXPECT_FALSE(found.steps[1].pinned);
  EXPECT_FALSE(found.steps[1].full);
  EXPECT_TRUE(found.steps[1].validity.ok());
  EXPECT_EQ(found.steps[0].validity.message, "broken");
  EXPECT_FALSE(found.steps[0].full);
  EXPECT_FALSE(found.steps[0].manifest.has_value());
}

TEST_F(Run, AStepWhosePinCannotBeSeenCountsAsPinned) {
  step(1, "full");
  FailingFs failing(fs);
  failing.arm({.op = Op::kStat, .path_part = ".keep", .error = EIO});
  Result<RunScan> found = scan_run(failing, dir, check());
  ASSERT_TRUE(found.ok());
  EXPECT_TRUE(found->steps[0].pinned);
}

TEST_F(Run, AStepThatIsALinkIsFollowedAndSaid) {
  ASSERT_TRUE(put_text(fs, "/store/a/manifest.json", "{}").ok());
  ASSERT_TRUE(fs.symlink("/store/a", dir + "/step-00000005").ok());
  states[dir + "/step-00000005"] = "full";
  const RunScan found = scan();
  ASSERT_EQ(found.steps.size(), 1u);
  EXPECT_EQ(found.steps[0].link, "/store/a");
  EXPECT_TRUE(found.steps[0].full);
  EXPECT_EQ(select_resume(found).entry, &found.steps[0]);
  EXPECT_THAT(found.foreign, IsEmpty());
}

// Its store may not be mounted just now.
TEST_F(Run, ALinkThatLeadsNowhereStopsAResume) {
  step(4, "full");
  ASSERT_TRUE(fs.symlink("/not/mounted", dir + "/step-00000005").ok());
  const RunScan found = scan();
  const ResumeChoice choice = select_resume(found);
  EXPECT_EQ(choice.entry, nullptr);
  EXPECT_EQ(choice.blocked.code, Code::kFailed);
  EXPECT_THAT(choice.blocked.message, HasSubstr("step-00000005 is a link that leads nowhere"));
  EXPECT_FALSE(choice.blocked.hint.empty());
}

// What a kill between the two renames of a rewrite leaves, until the next start or tool.
TEST_F(Run, AStepThatAnInterruptedToolMovedAsideIsThereWhereItLies) {
  step(4, "full");
  step(5, "full");
  for (const char* name : {"/step-00000004", "/step-00000006", "/notes"})
    ASSERT_TRUE(put_text(fs, dir + name + ".tmp-rewrite/old/manifest.json", "{}").ok());
  ASSERT_TRUE(put_text(fs, dir + "/step-00000007.tmp-rewrite/new/manifest.json", "{}").ok());
  const Result<RunScan> found = list_steps(fs, dir);
  ASSERT_TRUE(found.ok());
  ASSERT_EQ(found->steps.size(), 3u);
  EXPECT_EQ(found->steps[0].step, 6u);
  EXPECT_TRUE(found->steps[0].moved_aside);
  EXPECT_EQ(found->steps[0].path, dir + "/step-00000006.tmp-rewrite/old");
  EXPECT_FALSE(found->steps[1].moved_aside);
  EXPECT_FALSE(found->steps[2].moved_aside);
  EXPECT_THAT(found->leftovers, ElementsAre("step-00000004.tmp-rewrite", "step-00000007.tmp-rewrite"));
  FailingFs failing(fs);
  failing.arm({.op = Op::kStat, .path_part = "step-00000006.tmp-rewrite/old"});
  EXPECT_EQ(list_steps(failing, dir).status().code, Code::kMediaError) << "what cannot be seen now may be there";
}

TEST_F(Run, DeletingALinkLeavesWhatItLeadsTo) {
  ASSERT_TRUE(put_text(fs, "/store/a/manifest.json", "{}").ok());
  ASSERT_TRUE(fs.symlink("/store/a", dir + "/step-00000005").ok());
  ASSERT_TRUE(delete_step(fs, dir, "step-00000005", "x").ok());
  EXPECT_THAT(tree(fs, dir), IsEmpty());
  EXPECT_TRUE(fs.stat("/store/a/manifest.json").ok());
}

TEST_F(Run, DamagedStepsThatWereMovedAsideAreNeitherStepsNorLeftovers) {
  ASSERT_TRUE(put_text(fs, dir + "/.damaged-step-00000005-ab/manifest.json", "{}").ok());
  ASSERT_TRUE(put_text(fs, dir + "/.damaged-notes/x", "{}").ok());
  const RunScan found = scan();
  EXPECT_THAT(found.steps, IsEmpty());
  EXPECT_THAT(found.leftovers, IsEmpty());
  EXPECT_THAT(found.damaged, ElementsAre(".damaged-step-00000005-ab"));
  EXPECT_THAT(found.foreign, ElementsAre(".damaged-notes"));
  EXPECT_THAT(damaged_hint(fs, dir),
              AllOf(HasSubstr("prune " + dir + " --damaged"), HasSubstr(".damaged-step-00000005-ab")));
  EXPECT_EQ(damaged_hint(fs, "/nowhere"), "");
}

TEST_F(Run, AFolderWithTheManifestOfAnotherStepIsInvalid) {
  step(5, "other step");
  EXPECT_EQ(scan().steps[0].validity.code, Code::kCorrupt);
}

TEST_F(Run, ResumeTakesTheNewestValidFullStepAndSaysWhyNotTheOthers) {
  step(1, "full");
  step(2, "full");
  step(3, "model/shard-00000.h5 has 0 bytes");
  step(4, "weights");
  RunScan found = scan();
  ResumeChoice choice = select_resume(found);
  ASSERT_NE(choice.entry, nullptr);
  EXPECT_EQ(choice.entry->step, 2u);
  EXPECT_THAT(choice.skipped,
              ElementsAre(AllOf(HasSubstr("step-00000004"), HasSubstr("optimizer, lr_scheduler, dataloader")),
                          AllOf(HasSubstr("step-00000003"), HasSubstr("model/shard-00000.h5 has 0 bytes"))));
}

TEST_F(Run, ResumeStopsAtANewerStepThatCannotBeJudged) {
  step(1, "full");
  step(2, "full");
  RunScan found = scan();
  found.steps[0].validity = incompatible("format 2.0");
  const ResumeChoice choice = select_resume(found);
  EXPECT_EQ(choice.entry, nullptr);
  EXPECT_EQ(choice.blocked.code, Code::kIncompatible);
  found.steps[0].validity = failed("permission denied");
  EXPECT_EQ(select_resume(found).blocked.code, Code::kFailed);
}

TEST_F(Run, ResumeTakesNothingWhereNothingCanBeResumed) {
  EXPECT_EQ(select_resume(scan()).entry, nullptr);
  step(1, "weights");
  step(2, "broken");
  RunScan found = scan();
  EXPECT_EQ(select_resume(found).entry, nullptr);
  EXPECT_EQ(select_resume(found).skipped.size(), 2u);
}

TEST_F(Run, RetentionWaitsForASaveWhenTheNewestStepIsInvalid) {
  EXPECT_FALSE(retention_must_wait(scan()));
  step(1, "broken");
  EXPECT_FALSE(retention_must_wait(scan())) << "no older ones";
  step(2, "full");
  EXPECT_FALSE(retention_must_wait(scan()));
  step(3, "broken");
  EXPECT_TRUE(retention_must_wait(scan()));
}

TEST_F(Run, DeleteRenamesDurablyBeforeItRemovesAnything) {
  step(7, "full");
  FailingFs log(fs);
  ASSERT_TRUE(delete_step(log, dir, "step-00000007", "id1").ok());
  EXPECT_THAT(tree(fs, dir), IsEmpty());
  std::vector<Call> changes;
  for (const Call& call : log.calls())
    if (call.op != Op::kStat && call.op != Op::kList) changes.push_back(call);
  const std::string trash = dir + "/.trash-step-00000007-id1";
  EXPECT_EQ(changes, (std::vector<Call>{{Op::kRenameNoReplace, dir + "/step-00000007"},
                                        {Op::kSyncDir, dir},
                                        {Op::kRemoveFile, trash + "/manifest.json"},
                                        {Op::kRemoveDir, trash}}));
}

TEST_F(Run, DeleteTakesOnlyStepNames) {
  ASSERT_TRUE(put_text(fs, dir + "/notes/f", "").ok());
  for (const char* name : {"notes", "..", "step-1", "../checkpoint", ""})
    EXPECT_EQ(delete_step(fs, dir, name, "x").code, Code::kInvalid) << name;
  step(1, "full");
  EXPECT_EQ(delete_step(fs, dir, "step-00000001", "a/b").code, Code::kInvalid);
  EXPECT_EQ(delete_step(fs, dir, "step-00000002", "x").code, Code::kNotFound);
}

TEST_F(Run, AFailedDeletionLeavesTheWholeStepOrALeftoverNeverHalfAStep) {
  for (std::uint64_t k = 1;; ++k) {
    MemFs memory;
    ASSERT_TRUE(put_text(memory, dir + "/step-00000001/manifest.json", "{}").ok());
    ASSERT_TRUE(put_text(memory, dir + "/step-00000001/model/shard-00000.h5", "x").ok());
    const std::vector<std::string> before = tree(memory, dir);
    FailingFs failing(memory);
    failing.arm({.k = k});
    Status status = delete_step(failing, dir, "step-00000001", "id");
    if (!failing.fired()) {
      ASSERT_TRUE(status.ok());
      ASSERT_GT(k, 5u);
      break;
    }
    ASSERT_FALSE(status.ok()) << "call " << k;
    if (memory.stat(dir + "/step-00000001").ok()) {
      ASSERT_EQ(tree(memory, dir), before) << "call " << k;
    } else {
      ASSERT_TRUE(memory.stat(dir + "/.trash-step-00000001-id").ok()) << "call " << k;
      ASSERT_THAT(recover_folder(memory, dir), IsEmpty());
      ASSERT_THAT(tree(memory, dir), IsEmpty());
    }
  }
}

TEST_F(Run, ACopyThatAUserMadeBesideAStepIsForeign) {
  const std::vector<std::string> names = {"step-00000001.tmp-mine",        "step-00000001.tmp-2",
                                          "step-00000001.tmp-deadbeef",    "step-00000001.tmp-0123456789AB",
                                          "step-00000001.tmp-rewrite.old", "step-00000001.tmp-0123456789ab-x"};
  for (const std::string& name : names) ASSERT_TRUE(put_text(fs, join_path(dir, name) + "/manifest.json", "{}").ok());
  EXPECT_THAT(scan().foreign, ::testing::UnorderedElementsAreArray(names));
  EXPECT_THAT(scan().leftovers, IsEmpty());
}

TEST_F(Run, ResolveRunFindsTheFolderOfTheSteps) {
  EXPECT_EQ(*resolve_run(fs, "/runs/a"), dir) << "even without steps";
  step(1, "full");
  EXPECT_EQ(*resolve_run(fs, "/runs/a"), dir);
  EXPECT_EQ(*resolve_run(fs, dir), dir);
  EXPECT_EQ(resolve_run(fs, "/runs").status().code, Code::kNotFound);
  Status missing = resolve_run(fs, "/runs/b").status();
  EXPECT_EQ(missing.code, Code::kNotFound);
  EXPECT_THAT(missing.message, HasSubstr("no such run folder"));
}

TEST_F(Run, ResolveTakesPathsStepsAndLatest) {
  step(100, "full");
  step(200, "weights");
  step(300, "broken");
  const std::pair<const char*, std::string> cases[] = {
      {"/runs/a/checkpoint/step-00000100", dir + "/step-00000100"},
      {"/runs/a@100", dir + "/step-00000100"},
      {"/runs/a/checkpoint@100", dir + "/step-00000100"},
      {"/runs/a@step-00000100", dir + "/step-00000100"},
      {"/runs/a@latest", dir + "/step-00000200"},
      {"/runs/a@300", dir + "/step-00000300"},  // asked for by number: taken or refused, never another one
  };
  for (const auto& [spec, path] : cases) {
    Result<std::string> found = resolve_checkpoint(fs, spec, check());
    ASSERT_TRUE(found.ok()) << spec << ": " << found.status().to_string();
    EXPECT_EQ(*found, path) << spec;
  }
}

TEST_F(Run, ResolvePrefersAnExistingPathThatContainsAnAtSign) {
  ASSERT_TRUE(put_text(fs, "/runs/a@100/manifest.json", "{}").ok());
  step(100, "full");
  EXPECT_EQ(*resolve_checkpoint(fs, "/runs/a@100", check()), "/runs/a@100");
  ASSERT_TRUE(put_text(fs, "/hf@main/config.json", "{}").ok());
  EXPECT_EQ(*resolve_checkpoint(fs, "/hf@main", check()), "/hf@main") << "a foreign folder is passed on";
}

TEST_F(Run, ResolveNamesTheStepsThatAreThere) {
  step(100, "full");
  step(300, "broken");
  for (const char* spec : {"/runs/a@200", "/runs/a"}) {
    Result<std::string> found = resolve_checkpoint(fs, spec, check());
    ASSERT_FALSE(found.ok()) << spec;
    EXPECT_EQ(found.status().code, Code::kNotFound);
    EXPECT_THAT(found.status().message, HasSubstr("300, 100")) << spec;
  }
  for (const char* spec : {"/runs/b@100", "/runs/b", "/runs/a@newest", "/runs/a@", "@latest", "@", ""})
    EXPECT_EQ(resolve_checkpoint(fs, spec, check()).status().code, Code::kNotFound) << spec;
}

TEST_F(Run, LatestOfARunWithoutAValidStepSaysWhatIsWrongWithEach) {
  EXPECT_EQ(resolve_checkpoint(fs, "/runs/a@latest", check()).status().code, Code::kNotFound);
  step(1, "no manifest");
  step(2, "bad digest");
  Status status = resolve_checkpoint(fs, "/runs/a@latest", check()).status();
  EXPECT_EQ(status.code, Code::kNotFound);
  EXPECT_THAT(status.causes, ElementsAre(HasSubstr("bad digest"), HasSubstr("no manifest")));
}

TEST_F(Run, LatestSaysWhyNewerStepsWerePassedOver) {
  step(1, "full");
  step(2, "bad digest");
  step(3, "cut");
  std::vector<std::string> skipped;
  EXPECT_EQ(*resolve_checkpoint(fs, "/runs/a@latest", check(), &skipped), dir + "/step-00000001");
  EXPECT_THAT(skipped, ElementsAre("step-00000003: cut", "step-00000002: bad digest"));
}

TEST_F(Run, LatestStopsWhereAResumeWouldStop) {
  step(1, "full");
  step(2, "");
  step(3, "bad digest");
  for (const auto& [what, code] : {std::pair{"newer format", Code::kIncompatible}, {"unreadable", Code::kFailed}}) {
    states[join_path(dir, step_name(2))] = what;
    const Status status = resolve_checkpoint(fs, "/runs/a@latest", check()).status();
    EXPECT_EQ(status.code, code) << what;
    EXPECT_THAT(status.message, HasSubstr(what));
  }
}

// A job script that starts afresh on "no checkpoint there" (10) must not do so when a folder cannot be read just now.
TEST_F(Run, AFolderThatCannotBeListedNowIsNotEmpty) {
  step(10, "full");
  FailingFs failing(fs);
  for (const char* spec : {"/runs/a@10", "/runs/a@latest", "/runs/a", "/runs/a/checkpoint@10", "/runs/a/checkpoint"}) {
    for (const int error : {EIO, EMFILE, ENOMEM, EACCES}) {
      for (const Op op : {Op::kList, Op::kStat}) {
        for (std::uint64_t k = 1;; ++k) {
          failing.arm({.op = op, .path_part = "/runs/a", .k = k, .error = error});
          const Result<std::string> found = resolve_checkpoint(failing, spec, check());
          if (!failing.fired()) break;
          if (found.ok()) continue;  // that call was not needed
          if (found.status().code == Code::kNotFound) {
            EXPECT_THAT(found.status().message, HasSubstr("it holds steps 10"))
                << spec << ": the answer of one that was read";
            continue;
          }
          EXPECT_EQ(found.status().code, error == EIO ? Code::kMediaError : Code::kFailed)
              << spec << " " << op_name(op) << " " << k << ": " << found.status().to_string();
        }
      }
    }
  }
}

TEST_F(Run, LatestOpensNoMoreThanItNeeds) {
  step(1, "full");
  step(2, "full");
  ASSERT_TRUE(resolve_checkpoint(fs, "/runs/a@latest", check()).ok());
  EXPECT_THAT(checked, ElementsAre(dir + "/step-00000002"));
}

}  // namespace
}  // namespace titan::ckpt::run_folder_test
