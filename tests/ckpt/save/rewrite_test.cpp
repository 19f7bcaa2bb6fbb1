#include "ckpt/save/rewrite.h"
#include "ckpt/base/exit_code.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cerrno>

#include "ckpt/base/files.h"
#include "ckpt/run/recover.h"
#include "tests/ckpt/save/rewrite_tool.h"
#include "tests/support/failing_fs.h"
#include "tests/support/mem_fs.h"

namespace titan::ckpt::rewrite_test {
namespace {

using namespace titan::ckpt::testing;  // NOLINT: the file is about these
using ::testing::ElementsAre;
using ::testing::HasSubstr;

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

TEST_P(Replacing, APinThatComesWhileTheToolWorksCounts) {
  MemFs memory;
  make(memory, "/src");
  make(memory, "/out");
  FailingFs fs(memory);
  if (!GetParam()) fs.arm({.op = Op::kExchange, .repeat = Repeat::kSticky, .status = unsupported("no such call")});
  const auto reader = CheckpointReader::open(fs, kSrc);
  auto rewrite = Rewrite::begin(fs, kSrc, "/out/step-00000010", true);
  ASSERT_TRUE(rewrite.ok()) << rewrite.status().to_string();
  for (const FileEntry& file : reader->manifest().files) ASSERT_TRUE((*rewrite)->carry(file.path).ok());
  const std::string before = writer_of(memory, "/out/step-00000010");
  ASSERT_TRUE(put_text(memory, "/out/step-00000010/.keep", "").ok());
  Manifest manifest = reader->manifest();
  manifest.writer = "copied";
  EXPECT_THAT((*rewrite)->publish(manifest).message, HasSubstr("pinned"));
  rewrite->reset();
  EXPECT_EQ(writer_of(memory, "/out/step-00000010"), before);
  EXPECT_TRUE(memory.stat("/out/step-00000010/.keep").ok());
  EXPECT_EQ(temporaries(memory), 0u);
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
      if (!GetParam())
        inner.arm({.op = Op::kExchange, .repeat = Repeat::kSticky, .status = unsupported("no such call")});
      fs.arm({.k = k, .repeat = Repeat::kSticky, .error = ENOSPC});
      const Status status = copy_checkpoint(fs, kSrc, "/out/step-00000010", force, "fresh");
      fired = fs.fired();
      EXPECT_FALSE(fs.synced_after_failure());
      const bool untouched = contents(memory, "/src") == before;
      EXPECT_TRUE(untouched);

      const std::string writer = writer_of(memory, "/out/step-00000010");
      if (writer == "fresh")
        ++fresh;
      else if (writer.starts_with("<"))
        ++none;
      else
        ++old;
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
    // It stays where the parent could not be synced, or the cleaning itself fails.
    const bool may_stay = status.ok() || status.message.find("sync_dir") != std::string::npos;
    EXPECT_TRUE(left == 0 || may_stay) << status.to_string();
    EXPECT_TRUE(copy_checkpoint(memory, kSrc, "/out/step-00000010", true).ok());
    EXPECT_EQ(temporaries(memory), 0u) << "a rerun cleans up";
  }
  EXPECT_GT(k, 60u);
}

INSTANTIATE_TEST_SUITE_P(Rewrite, Replacing, ::testing::Bool(),
                         [](const auto& info) { return info.param ? "Exchanging" : "MovingAside"; });

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

// DST is there, and somebody else has put it there: what the dead tool left may be all that is whole.
TEST(Rewrite, WhatADeadToolLeftStaysBesideADestinationThatIsNotWhole) {
  for (const char* left : {"old", "new"}) {
    MemFs fs;
    make(fs, "/src");
    make(fs, "/out");
    const std::string dst = "/out/step-00000010", kept = dst + ".tmp-rewrite/" + left;
    ASSERT_TRUE(fs.make_dir(dst + ".tmp-rewrite").ok());
    ASSERT_TRUE(fs.rename(dst, kept).ok());
    make(fs, "/out");
    std::byte byte{};
    const std::string leaf = dst + "/optimizer/shard-00000.h5";
    ASSERT_TRUE(fs.open_read(leaf).value()->pread(4100, {&byte, 1}).ok());
    byte ^= std::byte{1};
    ASSERT_TRUE(fs.overwrite(leaf, 4100, {&byte, 1}).ok());
    const Status tool = copy_checkpoint(fs, kSrc, dst, true);
    EXPECT_THAT(tool.message, HasSubstr(kept + " may be the only whole copy of it"));
    EXPECT_THAT(tool.causes, ElementsAre(HasSubstr("shard-00000.h5 is damaged")));
    EXPECT_THAT(recover_folder(fs, "/out"), ElementsAre(HasSubstr("the only whole copy")));
    EXPECT_TRUE(whole(fs, kept)) << left;
    byte ^= std::byte{1};
    ASSERT_TRUE(fs.overwrite(leaf, 4100, {&byte, 1}).ok());
    EXPECT_TRUE(copy_checkpoint(fs, kSrc, dst, true).ok());
    EXPECT_EQ(temporaries(fs), 0u);
  }
}

TEST(Rewrite, WhatComesBackIsDurableUnderItsNameBeforeAnythingIsRemoved) {
  const auto aside = [](MemFs& memory) {
    make(memory, "/src");
    make(memory, "/out");
    ASSERT_TRUE(memory.make_dir("/out/step-00000010.tmp-rewrite").ok());
    ASSERT_TRUE(memory.rename("/out/step-00000010", "/out/step-00000010.tmp-rewrite/old").ok());
    ASSERT_TRUE(put_text(memory, "/out/step-00000010.tmp-rewrite/new/half", "x").ok());
  };
  MemFs memory;
  aside(memory);
  FailingFs fs(memory);
  EXPECT_FALSE(Rewrite::begin(fs, kSrc, "/out/step-00000010", false).ok()) << "it is there again";
  const std::vector<Call> calls = fs.calls();
  const auto position = [&](Op op, const std::string& path) {
    return std::find(calls.begin(), calls.end(), Call{op, path}) - calls.begin();
  };
  const auto back = position(Op::kRenameNoReplace, "/out/step-00000010.tmp-rewrite/old");
  EXPECT_LT(back, position(Op::kSyncDir, "/out"));
  EXPECT_LT(position(Op::kSyncDir, "/out"), position(Op::kRemoveFile, "/out/step-00000010.tmp-rewrite/new/half"));
  EXPECT_LT(position(Op::kRemoveFile, "/out/step-00000010.tmp-rewrite/new/half"),
            static_cast<std::ptrdiff_t>(calls.size()));

  MemFs other;
  aside(other);
  FailingFs failing(other);
  failing.arm({.op = Op::kSyncDir, .path_part = "/out"});
  EXPECT_EQ(Rewrite::begin(failing, kSrc, "/out/step-00000010", true).status().code, Code::kFailed);
  EXPECT_TRUE(whole(other, "/out/step-00000010"));
}

TEST(Rewrite, ARenameThatWasDoneAndReportedAsFailedCountsAsDone) {
  for (const bool exchanging : {false, true}) {
    for (const std::uint64_t k : {1, 2}) {
      MemFs memory;
      make(memory, "/src");
      ASSERT_TRUE(memory.make_dir("/out").ok());
      if (k == 2) make(memory, "/out");
      FailingFs inner(memory), fs(static_cast<Fs&>(inner));
      if (!exchanging)
        inner.arm({.op = Op::kExchange, .repeat = Repeat::kSticky, .status = unsupported("no such call")});
      fs.arm({.op = Op::kRenameNoReplace, .k = k, .error = ENOENT, .done = true});
      const Status status = copy_checkpoint(fs, kSrc, "/out/step-00000010", k == 2);
      EXPECT_EQ(fs.fired(), k == 1 || !exchanging);
      EXPECT_TRUE(status.ok()) << status.to_string();
      EXPECT_TRUE(whole(memory, "/out/step-00000010"));
      EXPECT_EQ(writer_of(memory, "/out/step-00000010"), "copied");
      EXPECT_EQ(temporaries(memory), 0u);
    }
  }
}

TEST(Rewrite, ALockThatCannotBeWrittenOrReadBackLeavesNothing) {
  for (const Op op : {Op::kLock, Op::kLockWrite, Op::kOpenRead, Op::kPread, Op::kSize}) {
    for (const Repeat repeat : {Repeat::kOnce, Repeat::kSticky}) {
      MemFs memory;
      make(memory, "/src");
      ASSERT_TRUE(memory.make_dir("/out").ok());
      FailingFs fs(memory);
      fs.arm({.op = op,
              .path_part = "/out/new.tmp-rewrite/lock",
              .repeat = repeat,
              .error = op == Op::kLockWrite ? ENOSPC : EIO});
      const auto begun = Rewrite::begin(fs, kSrc, "/out/new", false);
      ASSERT_TRUE(fs.fired());
      EXPECT_EQ(exit_code(begun.status().code), 3) << begun.status().to_string();
      EXPECT_EQ(temporaries(memory), 0u) << op_name(op);
    }
  }
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
  const auto position = [&](Op op, const std::string& path) {
    return std::find(calls.begin(), calls.end(), Call{op, path}) - calls.begin();
  };
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
}  // namespace titan::ckpt::rewrite_test
