#include "ckpt/io/rewrite.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cerrno>
#include <filesystem>
#include <map>

#include "ckpt/io/reader.h"
#include "ckpt/io/run_lock.h"
#include "ckpt/io/verifier.h"
#include "tests/support/checkpoints.h"
#include "tests/support/failing_fs.h"
#include "tests/support/files.h"
#include "tests/support/mem_fs.h"

namespace titan::ckpt {
namespace {

using namespace titan::ckpt::testing;  // NOLINT: the file is about these
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

constexpr const char* kSrc = "/src/step-00000010";

void make(Fs& fs, const std::string& folder, std::uint64_t step = 10) {
  ASSERT_TRUE(save(fs, folder, make_snapshot({{"a", {300}}, {"b", {10, 5}}}, {1, 2, 1}, 100, step)).ok());
}

bool whole(Fs& fs, const std::string& path) {
  const auto report = verify_checkpoint(fs, path);
  return report.ok() && report->damage.empty();
}

// The simplest tool there is: every member of SRC carried, the manifest with another writer.
Status copy_checkpoint(Fs& fs, const std::string& src, const std::string& dst, bool force = false, const char* writer = "copied") {
  TITAN_ASSIGN_OR_RETURN(const CheckpointReader reader, CheckpointReader::open(fs, src));
  Manifest manifest = reader.manifest();
  manifest.writer = writer;
  TITAN_ASSIGN_OR_RETURN(const std::unique_ptr<Rewrite> rewrite, Rewrite::begin(fs, src, dst, force));
  for (const FileEntry& file : manifest.files) TITAN_RETURN_IF_ERROR(rewrite->carry(file.path).status());
  return rewrite->publish(manifest);
}

std::string writer_of(Fs& fs, const std::string& path) {
  const auto reader = CheckpointReader::open(fs, path);
  return reader.ok() ? reader->manifest().writer : "<" + reader.status().message + ">";
}

// Everything below `folder` as one value: names and contents.
std::map<std::string, std::string> contents(Fs& fs, const std::string& folder) {
  std::map<std::string, std::string> all;
  for (const std::string& name : tree(fs, folder)) all[name] = name.ends_with('/') ? "" : get_text(fs, folder + "/" + name);
  return all;
}

std::size_t temporaries(Fs& fs) {
  const auto entries = fs.list("/out");
  return static_cast<std::size_t>(std::count_if(entries->begin(), entries->end(), [](const DirEntry& e) { return e.name.find(".tmp-") != std::string::npos; }));
}

TEST(Rewrite, MakesACheckpointBesideNothingElse) {
  MemFs fs;
  make(fs, "/src");
  ASSERT_TRUE(fs.make_dir("/out").ok());
  const auto before = contents(fs, "/src");
  const Status status = copy_checkpoint(fs, kSrc, "/out/mine/");
  ASSERT_TRUE(status.ok()) << status.to_string();
  EXPECT_TRUE(whole(fs, "/out/mine"));
  EXPECT_EQ(writer_of(fs, "/out/mine"), "copied");
  EXPECT_EQ(fs.list("/out")->size(), 1u) << "no temporary, no lock";
  const bool untouched = contents(fs, "/src") == before;
  EXPECT_TRUE(untouched);
}

TEST(Rewrite, RefusesNamesThatCannotWork) {
  MemFs fs;
  make(fs, "/src");
  make(fs, "/other");
  ASSERT_TRUE(put_text(fs, "/file", "x").ok());
  ASSERT_TRUE(put_text(fs, "/folder/x", "x").ok());
  ASSERT_TRUE(put_text(fs, "/damaged/manifest.json", "{}").ok());
  const auto before = contents(fs, "/");
  struct {
    const char *dst, *message;
    bool force;
  } const cases[] = {
      {kSrc, "is the source", false},
      {kSrc, "is the source", true},
      {"/./src//step-00000010/", "is the source", true},
      {"/src/step-00000010/model", "lies inside the source", true},
      {"/src/step-00000010/new", "lies inside the source", false},
      {"/src", "lies inside the destination", true},
      {"/", "cannot be the name", true},
      {"", "cannot be the name", false},
      {"/src/..", "cannot be the name", true},
      {"/none/new", "there is no folder /none", false},
      {"/other/step-00000010", "exists", false},
      {"/file", "is not a checkpoint", true},
      {"/folder", "is not a checkpoint", true},
      {"/damaged", "is not a checkpoint", true},
  };
  for (const auto& c : cases) {
    SCOPED_TRACE(std::string(c.dst) + (c.force ? " --force" : ""));
    EXPECT_EQ(check_rewrite(fs, kSrc, c.dst, c.force).code, Code::kInvalid);
    const Status status = copy_checkpoint(fs, kSrc, c.dst, c.force);
    EXPECT_EQ(status.code, Code::kInvalid) << status.to_string();
    EXPECT_THAT(status.message, HasSubstr(c.message));
  }
  const bool untouched = contents(fs, "/") == before;
  EXPECT_TRUE(untouched) << "nothing is written";
}

TEST(Rewrite, ADestinationThatIsALinkToTheSourceIsTheSource) {
  TempDir dir;
  Fs& fs = posix_fs();
  make(fs, dir / "src");
  std::filesystem::create_directory_symlink("src", dir / "link");
  EXPECT_THAT(copy_checkpoint(fs, dir / "src/step-00000010", dir / "link/../link/step-00000010", true).message, HasSubstr("is the source"));
  std::filesystem::create_directory_symlink("src/step-00000010", dir / "alias");
  EXPECT_THAT(copy_checkpoint(fs, dir / "src/step-00000010", dir / "alias", true).message, HasSubstr("is the source"));
  EXPECT_TRUE(whole(fs, dir / "src/step-00000010"));
}

class Replacing : public ::testing::TestWithParam<bool> {};

TEST_P(Replacing, ForceReplacesACheckpointWholeAndLeavesNothingOfTheOldOne) {
  MemFs memory;
  make(memory, "/src");
  make(memory, "/out");
  FailingFs fs(memory);
  const bool can_exchange = GetParam();
  if (!can_exchange) fs.arm({.op = Op::kExchange, .repeat = Repeat::kSticky, .status = unsupported("no such call")});
  const Status status = copy_checkpoint(fs, kSrc, "/out/step-00000010", true);
  ASSERT_TRUE(status.ok()) << status.to_string();
  EXPECT_TRUE(whole(memory, "/out/step-00000010"));
  EXPECT_EQ(writer_of(memory, "/out/step-00000010"), "copied");
  EXPECT_THAT(tree(memory, "/out"), ::testing::Not(::testing::Contains(HasSubstr(".tmp-"))));
  EXPECT_EQ(fs.count(Op::kExchange), 1u);
}

TEST_P(Replacing, APinnedCheckpointIsNotReplaced) {
  MemFs fs;
  make(fs, "/src");
  make(fs, "/out");
  ASSERT_TRUE(put_text(fs, "/out/step-00000010/.keep", "").ok());
  EXPECT_THAT(copy_checkpoint(fs, kSrc, "/out/step-00000010", true).message, HasSubstr("pinned"));
}

// Each call fails in turn, for good: as when the machine goes down there.
TEST_P(Replacing, ACrashAtAnyCallLeavesTheOldOrTheNewOneAndAWholeSource) {
  for (const bool force : {false, true}) {
    std::uint64_t k = 1, old = 0, fresh = 0, none = 0;
    MemFs memory;
    make(memory, "/src");
    for (bool fired = true; fired; ++k) {
      SCOPED_TRACE("call " + std::to_string(k) + (force ? " --force" : ""));
      ASSERT_TRUE(remove_tree(memory, "/out").ok());
      ASSERT_TRUE(memory.make_dir("/out").ok());
      ASSERT_TRUE(!force || copy_checkpoint(memory, kSrc, "/out/step-00000010").ok());
      const auto before = contents(memory, "/src");
      FailingFs inner(memory), fs(static_cast<Fs&>(inner));
      if (!GetParam()) inner.arm({.op = Op::kExchange, .repeat = Repeat::kSticky, .status = unsupported("no such call")});
      fs.arm({.k = k, .repeat = Repeat::kSticky, .error = ENOSPC});
      const Status status = copy_checkpoint(fs, kSrc, "/out/step-00000010", force, "fresh");
      fired = fs.fired();
      EXPECT_FALSE(fs.synced_after_failure());
      const bool untouched = contents(memory, "/src") == before;
      EXPECT_TRUE(untouched);

      const std::string writer = writer_of(memory, "/out/step-00000010");
      if (writer == "fresh") ++fresh;
      else if (writer.starts_with("<")) ++none;
      else ++old;
      const bool there = !writer.starts_with("<");
      EXPECT_TRUE(!status.ok() || writer == "fresh") << writer;
      EXPECT_EQ(there, whole(memory, "/out/step-00000010"));
      EXPECT_TRUE(there || !force || !GetParam()) << "an exchange leaves no gap";

      // A rerun cleans up. Where the first one had in truth got through, it needs --force, as any rerun.
      const Status again = copy_checkpoint(memory, kSrc, "/out/step-00000010", true);
      ASSERT_TRUE(again.ok()) << again.to_string();
      EXPECT_TRUE(whole(memory, "/out/step-00000010"));
      EXPECT_EQ(temporaries(memory), 0u);
    }
    EXPECT_GT(k, 60u) << "a rewrite makes more calls than that";
    EXPECT_GE(fresh, 2u);
    if (force) {
      EXPECT_EQ(none, GetParam() ? 0u : 1u) << "only between moving aside and renaming";
    } else {
      EXPECT_EQ(old, 0u);
    }
  }
}

TEST_P(Replacing, AFailedCallIsReportedAndLeavesNoTemporary) {
  std::uint64_t k = 1;
  MemFs memory;
  make(memory, "/src");
  make(memory, "/out");
  for (bool fired = true; fired; ++k) {
    SCOPED_TRACE("call " + std::to_string(k));
    FailingFs inner(memory), fs(static_cast<Fs&>(inner));
    if (!GetParam()) inner.arm({.op = Op::kExchange, .repeat = Repeat::kSticky, .status = unsupported("no such call")});
    fs.arm({.k = k, .error = EIO});
    const Status status = copy_checkpoint(fs, kSrc, "/out/step-00000010", true);
    fired = fs.fired();
    EXPECT_TRUE(whole(memory, "/out/step-00000010")) << "old or new";
    const std::size_t left = temporaries(memory);
    // It stays where its lock could not be had for sure, or the parent not be synced, or the cleaning itself fails.
    const bool may_stay = status.ok() || status.message.find("sync_dir") != std::string::npos || status.message.find("/lock: ") != std::string::npos;
    EXPECT_TRUE(left == 0 || may_stay) << status.to_string();
    EXPECT_TRUE(copy_checkpoint(memory, kSrc, "/out/step-00000010", true).ok());
    EXPECT_EQ(temporaries(memory), 0u) << "a rerun cleans up";
  }
  EXPECT_GT(k, 60u);
}

INSTANTIATE_TEST_SUITE_P(Rewrite, Replacing, ::testing::Bool(), [](const auto& info) { return info.param ? "Exchanging" : "MovingAside"; });

TEST(Rewrite, OnlyOneOfTwoToolsWritesADestination) {
  MemFs fs;
  make(fs, "/src");
  ASSERT_TRUE(fs.make_dir("/out").ok());
  auto first = Rewrite::begin(fs, kSrc, "/out/new", false);
  ASSERT_TRUE(first.ok()) << first.status().to_string();
  ASSERT_TRUE((*first)->write("model/half", "done").ok());
  const auto second = Rewrite::begin(fs, kSrc, "/out/new", false);
  ASSERT_FALSE(second.ok());
  EXPECT_EQ(second.status().code, Code::kLocked);
  EXPECT_THAT(second.status().message, HasSubstr("another process is writing /out/new"));
  EXPECT_THAT(second.status().causes, ElementsAre(HasSubstr("process ")));
  EXPECT_EQ(get_text(fs, (*first)->folder() + "/model/half"), "done") << "the loser touches nothing";
  const auto elsewhere = Rewrite::begin(fs, kSrc, "/out/other", false);
  EXPECT_TRUE(elsewhere.ok()) << "another destination is free";
  first->reset();
  EXPECT_TRUE(copy_checkpoint(fs, kSrc, "/out/new").ok()) << "the winner gave up";
}

TEST(Rewrite, WhatADeadToolLeftIsRemovedAndWhatItMovedAsideComesBack) {
  MemFs fs;
  make(fs, "/src");
  make(fs, "/out");
  ASSERT_TRUE(put_text(fs, "/out/new.tmp-rewrite/new/model/half", "x").ok());
  ASSERT_TRUE(put_text(fs, "/out/new.tmp-rewrite/lock", "an old note").ok());
  EXPECT_TRUE(copy_checkpoint(fs, kSrc, "/out/new").ok());
  EXPECT_TRUE(whole(fs, "/out/new"));

  ASSERT_TRUE(fs.make_dir("/out/step-00000010.tmp-rewrite").ok());
  ASSERT_TRUE(fs.rename("/out/step-00000010", "/out/step-00000010.tmp-rewrite/old").ok());
  EXPECT_THAT(copy_checkpoint(fs, kSrc, "/out/step-00000010").message, HasSubstr("exists"));
  EXPECT_TRUE(whole(fs, "/out/step-00000010")) << "back where it was";
  EXPECT_NE(writer_of(fs, "/out/step-00000010"), "copied");
  EXPECT_TRUE(copy_checkpoint(fs, kSrc, "/out/step-00000010", true).ok());
}

TEST(Rewrite, WhatWasMovedAsideOutlivesEveryFailingCall) {
  for (std::uint64_t k = 1;; ++k) {
    MemFs memory;
    make(memory, "/src");
    ASSERT_TRUE(memory.make_dir("/out").ok());
    ASSERT_TRUE(copy_checkpoint(memory, kSrc, "/out/new", false, "the old one").ok());
    ASSERT_TRUE(memory.make_dir("/out/new.tmp-rewrite").ok());
    ASSERT_TRUE(memory.rename("/out/new", "/out/new.tmp-rewrite/old").ok());
    FailingFs fs(memory);
    fs.arm({.k = k});
    (void)Rewrite::begin(fs, kSrc, "/out/new", true);
    const bool fired = fs.fired();
    fs.disarm();
    (void)Rewrite::begin(memory, kSrc, "/out/new", true);
    EXPECT_EQ(writer_of(memory, "/out/new"), "the old one") << "k " << k;
    EXPECT_EQ(temporaries(memory), 0u) << "k " << k;
    if (!fired) break;
  }
}

TEST(Rewrite, RefusesTheNameOfAnotherStepAndOfARunsStep) {
  MemFs fs;
  make(fs, "/src");
  ASSERT_TRUE(fs.make_dir("/out").ok());
  for (const char* dst : {"/out/step-00000011", "/src@10", "/src@latest"}) {
    const Status status = copy_checkpoint(fs, kSrc, dst, true);
    EXPECT_EQ(status.code, Code::kInvalid) << dst;
    EXPECT_FALSE(status.hint.empty()) << dst;
    EXPECT_EQ(fs.stat(dst).status().code, Code::kNotFound) << dst;
  }
  EXPECT_TRUE(copy_checkpoint(fs, kSrc, "/out/me@home").ok());
  EXPECT_TRUE(copy_checkpoint(fs, kSrc, "/out/step-00000010").ok());
}

TEST(Rewrite, WritesIntoNoPublishedCheckpoint) {
  MemFs fs;
  make(fs, "/src");
  make(fs, "/other");
  ASSERT_TRUE(fs.rename_noreplace("/other/step-00000010", "/other/renamed").ok());
  make(fs, "/damaged");
  ASSERT_TRUE(fs.remove_file("/damaged/step-00000010/manifest.json").ok());
  ASSERT_TRUE(put_text(fs, "/damaged/step-00000010/manifest.json", "gone").ok());
  for (const std::string inside : {"/other/renamed", "/damaged/step-00000010"}) {
    const auto before = contents(fs, inside);
    for (const std::string& dst : {inside + "/new", inside + "/model/new"}) {
      const Status status = copy_checkpoint(fs, kSrc, dst);
      EXPECT_EQ(status.code, Code::kInvalid) << dst;
      EXPECT_THAT(status.message, HasSubstr("lies inside the checkpoint " + inside));
      EXPECT_EQ(check_rewrite(fs, kSrc, dst, false).code, Code::kInvalid) << dst;
    }
    EXPECT_EQ(contents(fs, inside), before);
  }
  // Another program's file of that name.
  int number = 0;
  for (const char* text : {"{}", "{\"manifest_version\": 3, \"name\": \"an extension\"}"}) {
    const std::string project = "/project" + std::to_string(++number);
    ASSERT_TRUE(put_text(fs, project + "/manifest.json", text).ok());
    EXPECT_EQ(check_rewrite(fs, kSrc, project + "/new", false).code, Code::kOk) << text;
  }
}

TEST(Rewrite, TakesTheLockOfARunThatTheDestinationLiesIn) {
  struct {
    const char *run, *dst;
    bool locks;
  } const cases[] = {
      {"/run", "/run/checkpoint/step-00000010", true},   // <run>/checkpoint
      {"/run", "/run/checkpoint/exported", true},        // beside steps
      {"/run", "/run/exported", true},                   // beside run.lock
      {"/run", "/run/exports/by/day/exported", true},    // deep in the run
      {"/plain", "/plain/a/ck/step-00000010", true},     // a nested folder of steps
      {"/plain", "/plain/step-00000010", true},          // a folder of steps
      {"/run", "/free/step-00000010", false},
  };
  for (const auto& c : cases) {
    SCOPED_TRACE(c.dst);
    MemFs fs;
    make(fs, "/src");
    make(fs, "/run/checkpoint", 20);
    make(fs, "/plain", 20);
    make(fs, "/plain/a/ck", 20);
    ASSERT_TRUE(make_dirs(fs, "/run/exports/by/day").ok());
    ASSERT_TRUE(fs.make_dir("/free").ok());
    auto trainer = RunLock::take(fs, c.run, this_process());
    ASSERT_TRUE(trainer.ok());
    const Status status = copy_checkpoint(fs, kSrc, c.dst);
    EXPECT_EQ(status.code, c.locks ? Code::kLocked : Code::kOk) << status.to_string();
    if (!c.locks) continue;
    EXPECT_EQ(fs.stat(c.dst).status().code, Code::kNotFound);
    EXPECT_EQ(fs.stat(std::string(c.dst) + ".tmp-rewrite").status().code, Code::kNotFound);
    trainer->reset();
    EXPECT_TRUE(copy_checkpoint(fs, kSrc, c.dst).ok());
  }
}

TEST(Rewrite, ADestinationMadeMeanwhileIsNotReplaced) {
  MemFs fs;
  make(fs, "/src");
  ASSERT_TRUE(fs.make_dir("/out").ok());
  auto rewrite = Rewrite::begin(fs, kSrc, "/out/new", false);
  ASSERT_TRUE(rewrite.ok());
  const auto reader = CheckpointReader::open(fs, kSrc);
  for (const FileEntry& file : reader->manifest().files) ASSERT_TRUE((*rewrite)->carry(file.path).ok());
  ASSERT_TRUE(put_text(fs, "/out/new/mine", "x").ok());
  const Status status = (*rewrite)->publish(reader->manifest());
  EXPECT_EQ(status.code, Code::kInvalid) << status.to_string();
  rewrite->reset();
  EXPECT_THAT(tree(fs, "/out"), ElementsAre("new/", "new/mine"));
}

// The order of calls is the protocol; compare publish_test.
TEST(Rewrite, SyncsMembersBeforeTheirFoldersBeforeTheManifestBeforeTheRename) {
  MemFs memory;
  make(memory, "/src");
  ASSERT_TRUE(memory.make_dir("/out").ok());
  FailingFs recording(memory);
  ASSERT_TRUE(copy_checkpoint(recording, kSrc, "/out/new").ok());
  const std::vector<Call> calls = recording.calls();
  const auto position = [&](Op op, const std::string& path) { return std::find(calls.begin(), calls.end(), Call{op, path}) - calls.begin(); };
  const std::string tmp = "/out/new.tmp-rewrite/new";
  const std::string shard = "/src/step-00000010/model/shard-00000.h5";
  EXPECT_LT(position(Op::kDatasync, shard), position(Op::kLink, shard));
  EXPECT_LT(position(Op::kLink, shard), position(Op::kSyncDir, tmp + "/model"));
  EXPECT_LT(position(Op::kSyncDir, tmp + "/model"), position(Op::kCreate, tmp + "/manifest.json.tmp"));
  EXPECT_LT(position(Op::kSyncDir, tmp + "/optimizer"), position(Op::kCreate, tmp + "/manifest.json.tmp"));
  EXPECT_LT(position(Op::kRename, tmp + "/manifest.json.tmp"), position(Op::kSyncDir, tmp));
  EXPECT_LT(position(Op::kSyncDir, tmp), position(Op::kRenameNoReplace, tmp));
  EXPECT_LT(position(Op::kRenameNoReplace, tmp), position(Op::kSyncDir, "/out"));
  EXPECT_LT(position(Op::kSyncDir, "/out"), position(Op::kRemoveFile, "/out/new.tmp-rewrite/lock"));
  EXPECT_LT(position(Op::kRemoveFile, "/out/new.tmp-rewrite/lock"), static_cast<std::ptrdiff_t>(calls.size()));
}

TEST(Rewrite, KnowsWhichNamesAResumeFinds) {
  EXPECT_FALSE(hidden_from_resume("/run/checkpoint/step-00000010", 10));
  EXPECT_FALSE(hidden_from_resume("step-00000010/", 10));
  EXPECT_TRUE(hidden_from_resume("/run/checkpoint/step-00000011", 10));
  EXPECT_TRUE(hidden_from_resume("/run/checkpoint/step-10", 10));
}

TEST(Rewrite, AFullDiskIsSaidBeforeTheWork) {
  MemFs fs(4 << 20);
  make(fs, "/src");
  ASSERT_TRUE(fs.make_dir("/out").ok());
  auto rewrite = Rewrite::begin(fs, kSrc, "/out/new", false);
  ASSERT_TRUE(rewrite.ok());
  EXPECT_TRUE((*rewrite)->need_space(1000).ok());
  const Status status = (*rewrite)->need_space(8 << 20);
  EXPECT_EQ(status.code, Code::kFailed);
  EXPECT_THAT(status.message, HasSubstr("disk full"));
}

}  // namespace
}  // namespace titan::ckpt
