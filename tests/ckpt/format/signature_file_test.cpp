#include "ckpt/format/signature_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace titan::ckpt::signature_file_test {
namespace {

using ::testing::HasSubstr;

SignatureFile example() {
  SignatureFile made;
  made.key.fill(1);
  made.signature.fill(2);
  made.files = {{"a", 3, signed_leaf({})}, {"model/b", 4, {}}};
  return made;
}

std::string replaced(std::string text, const std::string& old, const std::string& with) {
  return text.replace(text.find(old), old.size(), with);
}

TEST(SignatureFile, ComesBack) {
  const auto read = decode_signature("s", encode_signature(example()));
  ASSERT_TRUE(read.ok()) << read.status().to_string();
  EXPECT_EQ(*read, example());
}

TEST(SignatureFile, TheSignedTextNamesFormatDigestsSizesAndNames) {
  const std::string text = signed_text(example().files);
  EXPECT_TRUE(text.starts_with("titan.signature/1\n" + hex_of(signed_leaf({}).bytes) + " 3 a\n")) << text;
  EXPECT_TRUE(text.ends_with(" 4 model/b\n")) << text;
}

TEST(SignatureFile, ALeafIsNoFile) {
  const std::byte data[33] = {std::byte{1}};
  FileTree tree(1);
  EXPECT_NE(tree.digest(), signed_leaf({}));
  FileTree one(5), other(6);
  one.leaf(signed_leaf(data));
  other.leaf(signed_leaf(data));
  EXPECT_NE(one.digest(), other.digest()) << "the size counts";
}

TEST(SignatureFile, WhatIsNoneIsRefused) {
  const std::string text = encode_signature(example());
  const auto refused = [](const std::string& bad) { return decode_signature("s", bad).status(); };
  EXPECT_EQ(refused("").code, Code::kCorrupt);
  EXPECT_EQ(refused(text.substr(0, text.size() - 5)).code, Code::kCorrupt);
  EXPECT_EQ(refused(replaced(text, "0101", "010g")).code, Code::kCorrupt);
  EXPECT_EQ(refused(replaced(text, "0101", "01")).code, Code::kCorrupt);
  EXPECT_THAT(refused(replaced(text, "model/b", "../../b")).message, HasSubstr("../../b"));
  EXPECT_THAT(refused(replaced(text, "model/b", "a")).message, HasSubstr("not in order"));
  EXPECT_EQ(refused(replaced(text, "signature/1", "signature/2")).code, Code::kIncompatible);
}

}  // namespace
}  // namespace titan::ckpt::signature_file_test
