#include "ckpt/base/file_kind.h"

#include <gtest/gtest.h>

#include <set>
#include <string>
#include <vector>

namespace titan::ckpt::file_kind_test {
namespace {

using namespace std::string_literals;
using Kind = FileKind;

std::string zip_of(const std::string& member) {
  std::string bytes = "PK\x03\x04"s + std::string(22, '\0');
  bytes += static_cast<char>(member.size());
  return bytes + std::string(3, '\0') + member + "content";
}

TEST(FileKind, KnowsKindsByTheirFirstBytes) {
  const std::vector<std::pair<std::string, Kind>> cases = {
      {"", Kind::kEmpty},
      {std::string(40, '\0'), Kind::kZeros},
      {"version https://git-lfs.github.com/spec/v1\noid sha256:0\nsize 1\n", Kind::kLfsPointer},
      {"\n <!DOCTYPE html><html>", Kind::kWebPage},
      {"<HTML><head>", Kind::kWebPage},
      {"<?xml version=\"1.0\"?><Error><Code>AccessDenied</Code>", Kind::kErrorPage},
      {"#!/bin/sh\n", Kind::kScript},
      {zip_of("archive/data.pkl"), Kind::kTorch},
      {zip_of("arr_0.npy"), Kind::kNpz},
      {zip_of("book.txt"), Kind::kZip},
      {"PK\x03\x04", Kind::kZip},
      {"\x80\x02}q\x01.", Kind::kPickle},
      {"\x80\x04\x95\x01", Kind::kPickle},
      {"\x93NUMPY\x01", Kind::kNpy},
      {"GGUF\x03", Kind::kGguf},
      {"\x89HDF\r\n\x1a\n", Kind::kHdf5},
      {"\x0a\0\0\0\0\0\0\0{\"a\":"s, Kind::kSafetensors},
      {std::string(257, 'a') + "ustar  ", Kind::kTar},
      {"\x1f\x8b\x08", Kind::kGzip},
      {"%PDF-1.7", Kind::kPdf},
      {"\x89PNG\r\n\x1a\n", Kind::kPng},
      {"SQLite format 3\0"s, Kind::kSqlite},
      {"\x7f"s + "ELF\x02", Kind::kProgram},
      {"\xff\xfe"s + "a", Kind::kUtf16},
      {"plain words", Kind::kUnknown},
      {"{\"a\": 1}", Kind::kUnknown},
  };
  for (const auto& [bytes, kind] : cases) EXPECT_EQ(file_kind(bytes), kind) << bytes.substr(0, 20);
}

TEST(FileKind, KnowsKindsByTheEndOfAName) {
  for (const auto& [name, kind] : std::vector<std::pair<std::string, Kind>>{{"a/x.JSONL", Kind::kJsonLines},
                                                                            {"x.json", Kind::kJson},
                                                                            {"x.tar.gz", Kind::kTar},
                                                                            {"x.txt.gz", Kind::kGzip},
                                                                            {"x.npz", Kind::kNpz},
                                                                            {"x.safetensors", Kind::kSafetensors},
                                                                            {"json", Kind::kUnknown},
                                                                            {"x.txt", Kind::kUnknown}})
    EXPECT_EQ(file_kind_by_name(name), kind) << name;
}

TEST(FileKind, EveryKindHasWordsAndEverySignatureFitsIntoWhatIsRead) {
  std::set<std::string> seen;
  for (const FileSignature& one : file_signatures()) {
    EXPECT_STRNE(kind_text(one.kind), "");
    EXPECT_LE(one.at + one.magic.size(), kSignatureBytes);
    const bool fresh = one.extension.empty() || seen.emplace(one.extension).second;
    EXPECT_TRUE(fresh) << one.extension;
  }
  EXPECT_STREQ(kind_text(Kind::kUnknown), "");
  EXPECT_TRUE(is_binary(Kind::kZip));
  for (const Kind kind : {Kind::kUnknown, Kind::kScript, Kind::kWebPage, Kind::kLfsPointer, Kind::kJson})
    EXPECT_FALSE(is_binary(kind)) << kind_text(kind);
}

}  // namespace
}  // namespace titan::ckpt::file_kind_test
