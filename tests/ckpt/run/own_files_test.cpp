#include "ckpt/run/own_files.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "ckpt/run/near_folder.h"
#include "ckpt/run/recover.h"
#include "ckpt/run/run_folder.h"
#include "tests/ckpt/save/rewrite_tool.h"
#include "tests/support/failing_fs.h"
#include "tests/support/mem_fs.h"

namespace titan::ckpt::own_files_test {
namespace {

using namespace titan::ckpt::testing;  // NOLINT: the file is about these
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

constexpr const char* kStep = "step-00000010";

// A step with files of users at places of all kinds, and a member whose name says nothing: only the manifest does.
void make_with_files(MemFs& fs, const std::string& folder) {
  make(fs, folder);
  const std::string step = folder + "/" + kStep;
  for (const char* file :
       {"NOTES.md", "model/shard-1.h5", "model/shard-00000.h5.bak", "samples/deep/a.txt", "parity/x"})
    ASSERT_TRUE(put_text(fs, step + "/" + file, file).ok());
  ASSERT_TRUE(fs.make_dir(step + "/empty").ok());
  ASSERT_TRUE(put_text(fs, step + "/" + kDurableMark, "").ok());
  Manifest manifest = *read_manifest(fs, step);
  ASSERT_TRUE(put_text(fs, step + "/words/tokenizer.json", "{}").ok());
  FileEntry member;
  member.path = "words/tokenizer.json";
  member.role = FileRole::kDerived;
  member.bytes = 2;
  member.whole = digest_of(std::as_bytes(std::span("{}", 2)));
  manifest.files.push_back(member);
  ASSERT_TRUE(fs.remove_file(step + "/" + kManifestFile).ok());
  ASSERT_TRUE(write_manifest(fs, step, manifest).ok());
}

// Everything below `folder` is the five files, in one folder of their own.
void expect_files_alone(MemFs& fs, const std::string& folder) {
  const auto left = contents(fs, folder);
  std::vector<std::string> files;
  for (const auto& [name, text] : left) {
    if (name == "latest") continue;
    ASSERT_THAT(name, ::testing::StartsWith("step-00000010.files-"));
    if (name.ends_with('/')) continue;
    files.push_back(name.substr(name.find('/') + 1));
    EXPECT_EQ(text, files.back());
  }
  EXPECT_THAT(
      files, ElementsAre("NOTES.md", "model/shard-00000.h5.bak", "model/shard-1.h5", "parity/x", "samples/deep/a.txt"));
}

TEST(OwnFiles, ADestinationWithAFileOfSomebodyElseIsNotReplaced) {
  for (const char* file : {"NOTES.md", "model/notes.txt", "mine/deep/er", "parity/readme"}) {
    SCOPED_TRACE(file);
    MemFs fs;
    make(fs, "/src");
    make(fs, "/out");
    const std::string dst = "/out/step-00000010", path = dst + "/" + file;
    for (const char* ours : {"signature.json", "signature.json.tmp-0123456789ab", "parity/parity-00000.bin"})
      ASSERT_TRUE(put_text(fs, dst + "/" + ours, "{}").ok());
    ASSERT_TRUE(fs.make_dir(dst + "/empty").ok());
    ASSERT_TRUE(put_text(fs, path, "mine").ok());
    const auto before = contents(fs, "/out");
    for (const Status& status : {check_rewrite(fs, kSrc, dst, true), copy_checkpoint(fs, kSrc, dst, true),
                                 Rewrite::begin_in_place(fs, dst).status()}) {
      EXPECT_EQ(status.code, Code::kInvalid);
      EXPECT_THAT(status.message, HasSubstr(dst + " also holds '" + file + "'"));
    }
    EXPECT_TRUE(contents(fs, "/out") == before);
    ASSERT_TRUE(fs.remove_file(path).ok());
    EXPECT_TRUE(copy_checkpoint(fs, kSrc, dst, true).ok()) << "the rest is ours";
  }
}

TEST(OwnFiles, ADeletedStepLeavesTheFilesOfUsers) {
  const std::string damaged = damaged_name(10, "0123456789ab");
  for (const std::string& name : {std::string(kStep), damaged}) {
    SCOPED_TRACE(name);
    MemFs fs;
    make_with_files(fs, "/run");
    EXPECT_THAT(*files_of_users(fs, std::string("/run/") + kStep), SizeIs(5));
    if (name == damaged) {
      ASSERT_TRUE(fs.rename(std::string("/run/") + kStep, "/run/" + damaged).ok());
    }
    std::string kept;
    const auto remove = name == damaged ? delete_damaged : delete_step;
    ASSERT_TRUE(remove(fs, "/run", name, "mine", {}, &kept).ok());
    EXPECT_EQ(kept, name == damaged ? "/run/step-00000010.files-0123456789abmine" : "/run/step-00000010.files-mine");
    expect_files_alone(fs, "/run");
    const auto scan = list_steps(fs, "/run");
    EXPECT_THAT(scan->foreign, ElementsAre(base_name(kept))) << "nobody deletes it";
    EXPECT_THAT(scan->leftovers, IsEmpty());
  }
}

TEST(OwnFiles, AStepOfTitanAloneGoesWithoutALookIntoItsManifest) {
  MemFs memory;
  make(memory, "/run");
  FailingFs fs(memory);
  fs.arm({Op::kOpenRead, "", 1, Repeat::kSticky});
  std::string kept = "";
  ASSERT_TRUE(delete_step(fs, "/run", kStep, "mine", {}, &kept).ok());
  EXPECT_EQ(kept, "");
  EXPECT_THAT(tree(memory, "/run"), ElementsAre("latest"));
}

// A deletion that fails or dies at any call loses none of them, and the next start brings it to its end.
TEST(OwnFiles, AnInterruptedDeletionLosesNoneOfThem) {
  for (std::uint64_t k = 1;; ++k) {
    SCOPED_TRACE("call " + std::to_string(k));
    MemFs memory;
    make_with_files(memory, "/run");
    FailingFs fs(memory);
    fs.arm({.k = k, .repeat = Repeat::kSticky});
    const Status status = delete_step(fs, "/run", kStep, "mine");
    if (!fs.fired()) {
      ASSERT_TRUE(status.ok());
      ASSERT_GT(k, 20u);
      return;
    }
    EXPECT_THAT(recover_folder(memory, "/run"), IsEmpty());
    if (memory.stat(std::string("/run/") + kStep).ok()) {
      ASSERT_TRUE(delete_step(memory, "/run", kStep, "mine").ok());
    }
    expect_files_alone(memory, "/run");
  }
}

// The disk is full, so no folder can be made for them: what is Titan's goes all the same, since that makes room.
TEST(OwnFiles, WhatCannotBeMovedStaysAndTheRestGoes) {
  MemFs memory;
  make_with_files(memory, "/run");
  FailingFs fs(memory);
  fs.arm({Op::kMakeDir, ".files-", 1, Repeat::kSticky, ENOSPC});
  const Status status = delete_step(fs, "/run", kStep, "mine");
  EXPECT_EQ(status.error, ENOSPC);
  EXPECT_THAT(status.message, HasSubstr("a file of yours"));
  EXPECT_EQ(memory.stat("/run/.trash-step-00000010-mine/optimizer/shard-00000.h5").status().code, Code::kNotFound);
  EXPECT_TRUE(memory.stat("/run/.trash-step-00000010-mine/NOTES.md").ok());
  EXPECT_THAT(recover_folder(memory, "/run"), IsEmpty());
  expect_files_alone(memory, "/run");
}

TEST(OwnFiles, ANearFolderThatIsLeftKeepsThem) {
  MemFs fs;
  make_with_files(fs, "/near");
  make(fs, "/near", 20);
  ASSERT_TRUE(put_text(fs, std::string("/near/") + kNearSeen, "word").ok());
  EXPECT_THAT(remove_near(fs, "/near"), SizeIs(1));
  ASSERT_TRUE(fs.remove_file(std::string("/near/") + kNearSeen).ok());
  expect_files_alone(fs, "/near");
  MemFs bare;
  make(bare, "/near");
  ASSERT_TRUE(put_text(bare, std::string("/near/") + kNearSeen, "word").ok());
  EXPECT_THAT(remove_near(bare, "/near"), IsEmpty());
  EXPECT_EQ(bare.stat("/near").status().code, Code::kNotFound);
}

}  // namespace
}  // namespace titan::ckpt::own_files_test
