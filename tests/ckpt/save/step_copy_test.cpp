#include "ckpt/save/step_copy.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

#include "ckpt/base/files.h"
#include "ckpt/read/reader.h"
#include "ckpt/read/step_proof.h"
#include "tests/support/checkpoints.h"
#include "tests/support/failing_fs.h"
#include "tests/support/files.h"
#include "tests/support/meddling_fs.h"
#include "tests/support/mem_fs.h"

namespace titan::ckpt::step_copy_test {
namespace {

using namespace titan::ckpt::testing;  // NOLINT: the file is about these

constexpr const char* kNear = "/near";
constexpr const char* kRun = "/run";
constexpr const char* kStep = "/near/step-00000040";
constexpr const char* kCopy = "/run/step-00000040";

struct Step {
  MemFs fs;
  Digest id;
  Step(Codec codec = Codec::kRaw, std::uint32_t parity = 0) {
    Snapshot snapshot = make_snapshot(small_model(), {1, 2, 1}, 64);
    snapshot.codec = codec;
    snapshot.parity = parity;
    const std::string words(300, 'w');
    const auto bytes = std::as_bytes(std::span(words));
    snapshot.model_files = std::make_shared<const std::vector<ModelFile>>(
        std::vector<ModelFile>{{"hf/tokenizer.json", {bytes.begin(), bytes.end()}, digest_of(words)}});
    EXPECT_TRUE(make_dirs(fs, kNear).ok());
    EXPECT_TRUE(make_dirs(fs, kRun).ok());
    const auto published = save(fs, kNear, snapshot);
    EXPECT_TRUE(published.ok()) << published.status().to_string();
    if (published.ok()) id = published->id;
  }
};

bool nothing_left(Fs& fs) {
  for (const std::string& name : tree(fs, kRun))
    if (name.find(".tmp-") != std::string::npos) return false;
  return true;
}

TEST(StepCopy, HasTheSameBytesAndId) {
  for (const Codec codec : {Codec::kRaw, Codec::kZstd}) {
    Step step(codec, 2);
    for (const ReadBack how : {ReadBack::kOff, ReadBack::kSampled, ReadBack::kAll}) {
      const auto copied = copy_step(step.fs, kStep, kRun, {how});
      ASSERT_TRUE(copied.ok()) << copied.status().to_string();
      EXPECT_EQ(copied->path, kCopy);
      EXPECT_EQ(copied->id, step.id);
      EXPECT_EQ(copied->read_whole, how == ReadBack::kAll);
      EXPECT_EQ(*prove_step(step.fs, kCopy), step.id);
      EXPECT_EQ(tree(step.fs, kCopy), tree(step.fs, kStep));
      for (const std::string& name : tree(step.fs, kStep)) {
        if (name.ends_with('/')) continue;
        EXPECT_EQ(get_text(step.fs, join_path(kCopy, name)), get_text(step.fs, join_path(kStep, name))) << name;
        EXPECT_FALSE(step.fs.stat(join_path(kCopy, name))->writable) << name;
      }
      ASSERT_TRUE(remove_tree(step.fs, kCopy).ok());
    }
  }
}

TEST(StepCopy, ASecondCopyFindsTheFirst) {
  Step step;
  ASSERT_TRUE(copy_step(step.fs, kStep, kRun, {}).ok());
  const auto again = copy_step(step.fs, kStep, kRun, {});
  ASSERT_TRUE(again.ok()) << again.status().to_string();
  EXPECT_TRUE(again->already_there);
  EXPECT_TRUE(again->read_whole);
  EXPECT_TRUE(nothing_left(step.fs));
}

bool holds(Fs& fs, const std::string& path, const Digest& id) {
  const auto found = prove_step(fs, path);
  return found.ok() && *found == id;
}

// A bit of every file in turn, at its begin, in its middle and at its end.
TEST(StepCopy, WhatIsDamagedIsNotPublished) {
  const Step whole;
  for (const std::string& name : tree(const_cast<MemFs&>(whole.fs), kStep)) {
    if (name.ends_with('/')) continue;
    for (const int where : {0, 1, 2}) {
      Step step;
      const std::string path = join_path(kStep, name);
      const std::string text = get_text(step.fs, path);
      const std::size_t at = where == 0 ? 0 : where == 1 ? text.size() / 2 : text.size() - 1;
      const std::byte other{static_cast<unsigned char>(text[at] ^ 4)};
      ASSERT_TRUE(step.fs.overwrite(path, at, {&other, 1}).ok());
      const auto copied = copy_step(step.fs, kStep, kRun, {});
      EXPECT_EQ(copied.status().code, Code::kCorrupt) << name << " " << where << copied.status().to_string();
      EXPECT_FALSE(step.fs.stat(kCopy).ok());
      EXPECT_TRUE(nothing_left(step.fs));
    }
  }
}

// What the store keeps is read again before the step appears.
TEST(StepCopy, ABitThatFlipsOnItsWayIsFound) {
  for (std::uint64_t k = 1;; ++k) {
    Step step;
    MeddlingFs flips(step.fs, {"/run/", k, 40 * k + 3});
    StepCopyOptions all{ReadBack::kAll};
    all.threads = 1;
    const auto copied = copy_step(flips, kStep, kRun, all);
    if (!flips.flipped()) break;
    EXPECT_TRUE(!copied.ok() || holds(step.fs, kCopy, step.id)) << "write " << k;
  }
}

TEST(StepCopy, AFailedCallLeavesTheStepAndNothingHalfMade) {
  bool fired = true;
  std::uint64_t k = 1;
  for (; fired; ++k) {
    Step step;
    FailingFs failing(step.fs);
    failing.arm({std::nullopt, "/run", k, Repeat::kOnce, ENOSPC});
    StepCopyOptions one{ReadBack::kSampled};
    one.threads = 1;
    const auto copied = copy_step(failing, kStep, kRun, one);
    fired = failing.fired();
    EXPECT_FALSE(failing.synced_after_failure());
    EXPECT_EQ(*prove_step(step.fs, kStep), step.id) << "call " << k;
    EXPECT_TRUE(!step.fs.stat(kCopy).ok() || holds(step.fs, kCopy, step.id)) << "call " << k;
    EXPECT_TRUE(fired || copied.ok()) << copied.status().to_string();
  }
  EXPECT_GT(k, 40u) << "a copy makes more calls than that";
}

// Nothing of the copy is left to the kernel when it gets its name.
TEST(StepCopy, EveryFileAndFolderIsSyncedBeforeItsName) {
  Step step(Codec::kRaw, 1);
  FailingFs fs(step.fs);
  ASSERT_TRUE(copy_step(fs, kStep, kRun, {}).ok());
  std::set<std::string> unsynced;
  bool named = false;
  for (const Call& call : fs.calls()) {
    const bool of_copy = call.path.find(".tmp-") != std::string::npos;
    if (of_copy && (call.op == Op::kCreate || call.op == Op::kMakeDir)) unsynced.insert(call.path);
    if (of_copy && call.op == Op::kCreate) unsynced.insert(parent_path(call.path));
    if (of_copy && call.op == Op::kRename) unsynced.insert(parent_path(call.path));
    if (call.op == Op::kDatasync || call.op == Op::kSyncDir) unsynced.erase(call.path);
    if (call.op == Op::kRenameNoReplace) {
      EXPECT_THAT(unsynced, ::testing::IsEmpty());
      unsynced = {kRun};
      named = true;
    }
  }
  EXPECT_TRUE(named);
  EXPECT_THAT(unsynced, ::testing::IsEmpty());
}

TEST(StepCopy, SaysWhatIsMissing) {
  Step step;
  EXPECT_EQ(copy_step(step.fs, "/near/step-00000041", kRun, {}).status().code, Code::kNotFound);
  EXPECT_EQ(copy_step(step.fs, kStep, "/nowhere", {}).status().code, Code::kNotFound);
  CancelSource stop;
  (void)stop.request(StopReason::kTerminate);
  StepCopyOptions stopped;
  stopped.cancel = CancelToken(stop);
  EXPECT_EQ(copy_step(step.fs, kStep, kRun, stopped).status().code, Code::kTerminated);
  EXPECT_TRUE(nothing_left(step.fs));
}

TEST(StepCopy, AFullDiskIsFoundBeforeAnythingIsWritten) {
  MemFs small(1 << 22);
  ASSERT_TRUE(make_dirs(small, kNear).ok());
  ASSERT_TRUE(make_dirs(small, kRun).ok());
  ASSERT_TRUE(save(small, kNear, make_snapshot(small_model(), {1, 1, 1}, 64)).ok());
  while (put_text(small, "/full/" + std::to_string(*small.free_bytes("/")), std::string(1 << 15, 'x')).ok()) continue;
  const auto copied = copy_step(small, kStep, kRun, {});
  EXPECT_EQ(copied.status().error, ENOSPC);
  EXPECT_THAT(copied.status().message, ::testing::HasSubstr("not enough space for step-00000040 in /run"));
}

}  // namespace
}  // namespace titan::ckpt::step_copy_test
