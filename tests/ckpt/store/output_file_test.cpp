#include "ckpt/store/output_file.h"

#include <gmock/gmock.h>

#include <algorithm>

#include "tests/support/failing_fs.h"
#include "tests/support/files.h"
#include "tests/support/make_checkpoint.h"
#include "tests/support/mem_fs.h"

namespace titan::ckpt::output_file_test {
namespace {

using ::testing::ElementsAre;
using testing::get_text;
using testing::MemFs;

Status append(OutputFile& file, std::string_view text) { return file.append(std::as_bytes(std::span(text))); }

TEST(OutputFile, ItsNameIsDurableOnceItIsPublished) {
  MemFs memory;
  ASSERT_TRUE(memory.make_dir("/out").ok());
  testing::FailingFs fs(memory);
  const auto file = OutputFile::create(fs, "/out/x");
  ASSERT_TRUE(file.ok());
  ASSERT_TRUE(append(**file, "whole ").ok() && append(**file, "text").ok());
  ASSERT_TRUE((*file)->publish().ok());
  EXPECT_EQ(get_text(memory, "/out/x"), "whole text");
  std::vector<testing::Op> order;
  for (const testing::Call& call : fs.calls())
    if (call.op == testing::Op::kDatasync || call.op == testing::Op::kRename || call.op == testing::Op::kSyncDir)
      order.push_back(call.op);
  EXPECT_THAT(order, ElementsAre(testing::Op::kDatasync, testing::Op::kRename, testing::Op::kSyncDir));
  EXPECT_EQ(fs.calls().back(), (testing::Call{testing::Op::kSyncDir, "/out"}));
}

TEST(OutputFile, OneMissingFolderIsMadeAndGoesWhereNothingComesOfIt) {
  MemFs fs;
  {
    const auto file = OutputFile::create(fs, "/new/x");
    ASSERT_TRUE(file.ok()) << file.status().to_string();
    EXPECT_TRUE(fs.stat("/new").ok());
  }
  EXPECT_FALSE(fs.stat("/new").ok());
  const auto file = OutputFile::create(fs, "/new/x");
  ASSERT_TRUE(file.ok() && append(**file, "text").ok() && (*file)->publish().ok());
  EXPECT_EQ(get_text(fs, "/new/x"), "text");
  EXPECT_EQ(OutputFile::create(fs, "/a/b/x").status().code, Code::kInvalid);
  EXPECT_FALSE(fs.stat("/a").ok());
}

TEST(OutputFile, WhatIsNotPublishedLeavesTheOldFileAlone) {
  MemFs memory;
  ASSERT_TRUE(memory.make_dir("/out").ok());
  ASSERT_TRUE(testing::put_text(memory, "/out/x", "old").ok());
  const std::vector<std::string> before = testing::tree(memory, "/");
  for (const testing::Op failing : {testing::Op::kDatasync, testing::Op::kRename}) {
    testing::FailingFs fs(memory);
    const auto file = OutputFile::create(fs, "/out/x");
    ASSERT_TRUE(file.ok() && append(**file, "new").ok());
    fs.arm({.op = failing});
    EXPECT_FALSE((*file)->publish().ok());
  }
  EXPECT_EQ(testing::tree(memory, "/"), before);
  EXPECT_EQ(get_text(memory, "/out/x"), "old");
}

TEST(OutputFile, NothingIsMadeInACheckpointAlsoWhereOneAppearsMeanwhile) {
  MemFs fs;
  ASSERT_TRUE(testing::make_checkpoint(fs, "/run/checkpoint", {}).ok());
  const std::vector<std::string> before = testing::tree(fs, "/");
  EXPECT_EQ(OutputFile::create(fs, "/run/checkpoint/step-00000010/x").status().code, Code::kInvalid);
  EXPECT_EQ(OutputFile::create(fs, "/run/checkpoint/step-00000010/new/x").status().code, Code::kInvalid);
  EXPECT_EQ(testing::tree(fs, "/"), before);

  ASSERT_TRUE(fs.make_dir("/out").ok());
  {
    const auto file = OutputFile::create(fs, "/out/x");
    ASSERT_TRUE(file.ok());
    ASSERT_TRUE(
        testing::put_text(fs, "/out/manifest.json", get_text(fs, "/run/checkpoint/step-00000010/manifest.json")).ok());
    EXPECT_EQ((*file)->publish().code, Code::kInvalid);
  }
  EXPECT_EQ(fs.stat("/out/x").status().code, Code::kNotFound);
}

}  // namespace
}  // namespace titan::ckpt::output_file_test
