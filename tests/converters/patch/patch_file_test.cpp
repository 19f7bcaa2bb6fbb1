#include "converters/patch/patch_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "ckpt/format/difference_codec.h"
#include "tests/support/files.h"
#include "tests/support/mem_fs.h"

namespace titan::convert::patch_file_test {
namespace {

using ckpt::Code;
using ckpt::testing::MemFs;
using ckpt::testing::put_text;
using ::testing::HasSubstr;

PatchHead head() {
  PatchHead made;
  made.base = {"hf", ckpt::digest_of("a")};
  made.target = {"hf", ckpt::digest_of("b")};
  made.writer = "test";
  made.files = {{"model/x", 3}, {"y", 4}};
  made.tensors = {{"t", 32}};
  return made;
}

std::string text_of(std::span<const std::byte> bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

Result<PatchReader> open(MemFs& fs, const std::string& bytes) {
  (void)fs.remove_file("/p");
  EXPECT_TRUE(put_text(fs, "/p", bytes).ok());
  return PatchReader::open(std::move(fs.open_read("/p")).value(), "/p");
}

TEST(PatchFile, RecordsAndHeadComeBack) {
  const std::vector<std::byte> stored(4, std::byte{1});
  const PatchRecord record{.tensor = 0, .element_size = 2, .first = 8, .raw = 3, .stored = 4};
  MemFs fs;
  auto reader = open(
      fs, patch_begin() + text_of(encode_patch_record(record, stored)) + text_of(stored) + encode_patch_end(head()));
  ASSERT_TRUE(reader.ok()) << reader.status().to_string();
  EXPECT_EQ(reader->head(), head());
  EXPECT_EQ(reader->head().bytes(), 7u);
  std::vector<std::byte> bytes;
  ASSERT_TRUE(reader->more());
  EXPECT_EQ(*reader->next(bytes), record);
  EXPECT_EQ(bytes, stored);
  EXPECT_FALSE(reader->more());
  EXPECT_EQ(reader->next(bytes).status().code, Code::kCorrupt);
}

TEST(PatchFile, WhatNoRecordCanBeIsRefusedBeforeMemoryIsTaken) {
  MemFs fs;
  for (const PatchRecord record : {PatchRecord{.raw = 0}, PatchRecord{.raw = ckpt::kMaxDifferencePiece + 1},
                                   PatchRecord{.tensor = 1, .raw = 3}, PatchRecord{.raw = 3, .stored = 0xffffffff}}) {
    std::string bytes = text_of(encode_patch_record(record, {}));
    if (record.stored != 0) bytes.replace(20, 4, "\xff\xff\xff\xff");
    auto reader = open(fs, patch_begin() + bytes + encode_patch_end(head()));
    ASSERT_TRUE(reader.ok());
    std::vector<std::byte> stored;
    EXPECT_THAT(reader->next(stored).status().message, HasSubstr("a record does not fit"));
    EXPECT_TRUE(stored.empty());
  }
}

// It is in the file whole, and its digest is right: encoded, a record has one byte more than the bytes it stands for at
// most.
TEST(PatchFile, ARecordLongerThanItsBytesIsRefusedBeforeMemoryIsTaken) {
  MemFs fs;
  const std::vector<std::byte> longer(5, std::byte{1});
  const PatchRecord record{.tensor = 0, .element_size = 2, .first = 8, .raw = 3, .stored = 5};
  auto reader = open(
      fs, patch_begin() + text_of(encode_patch_record(record, longer)) + text_of(longer) + encode_patch_end(head()));
  ASSERT_TRUE(reader.ok());
  std::vector<std::byte> stored;
  EXPECT_THAT(reader->next(stored).status().message, HasSubstr("a record does not fit"));
  EXPECT_TRUE(stored.empty());
}

TEST(PatchFile, HeadsThatCannotBe) {
  const auto refused = [](PatchHead bad) {
    const std::string end = encode_patch_end(bad);
    return decode_patch_head("/p", end.substr(0, end.size() - kPatchEnd)).status();
  };
  PatchHead bad = head();
  bad.files[1].path = "../y";
  EXPECT_THAT(refused(bad).message, HasSubstr("../y"));
  bad = head();
  bad.files[1].path = "model/x";
  EXPECT_THAT(refused(bad).message, HasSubstr("there twice"));
  bad = head();
  bad.one_file = true;
  EXPECT_EQ(refused(bad).code, Code::kCorrupt);
  bad = head();
  bad.files.clear();
  EXPECT_EQ(refused(bad).code, Code::kCorrupt);
  bad = head();
  bad.target.kind = "tomorrow's";
  EXPECT_EQ(refused(bad).code, Code::kIncompatible);
}

TEST(PatchFile, OtherFilesAndOtherVersions) {
  MemFs fs;
  EXPECT_EQ(open(fs, "").status().code, Code::kInvalid);
  EXPECT_EQ(open(fs, "some text that is no patch at all, and long").status().code, Code::kInvalid);
  EXPECT_EQ(open(fs, patch_begin()).status().code, Code::kCorrupt);
  std::string newer = patch_begin() + encode_patch_end(head());
  newer[8] = 2;
  EXPECT_EQ(open(fs, newer).status().code, Code::kIncompatible);
  std::string large = patch_begin() + encode_patch_end(head());
  large[large.size() - 10] = 1;  // of the length of the head
  EXPECT_EQ(open(fs, large).status().code, Code::kCorrupt);
}

}  // namespace
}  // namespace titan::convert::patch_file_test
