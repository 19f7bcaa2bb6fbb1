#include "recipe/text/nfc.h"

#include <gtest/gtest.h>

namespace titan::recipe::nfc_test {
namespace {

std::string nfc(const std::string& text) {
  std::string out;
  append_nfc(text, out);
  return out;
}

TEST(Nfc, ComposesAndLeavesWhatIsComposed) {
  EXPECT_EQ(nfc("caf\xc3\xa9"), "caf\xc3\xa9");
  EXPECT_EQ(nfc("cafe\xcc\x81"), "caf\xc3\xa9");
  EXPECT_EQ(nfc("\xe2\x84\xab"), "\xc3\x85") << "the Angstrom sign is A with a ring";
  EXPECT_EQ(nfc(""), "");
}

TEST(Nfc, OrdersMarksByClass) {
  EXPECT_EQ(nfc("q\xcc\x87\xcc\xa3"), "q\xcc\xa3\xcc\x87");
  EXPECT_EQ(nfc("A\xcc\xa7\xcc\x81\xcc\xa8"), "\xc3\x81\xcc\xa7\xcc\xa8") << "a mark of another class does not block";
}

TEST(Nfc, ComposesHangul) {
  EXPECT_EQ(nfc("\xe1\x84\x80\xe1\x85\xa1\xe1\x86\xa8"), "\xea\xb0\x81");
  EXPECT_EQ(nfc("\xea\xb0\x80\xe1\x86\xa8"), "\xea\xb0\x81");
  EXPECT_EQ(nfc("\xea\xb0\x81\xe1\x86\xa8"), "\xea\xb0\x81\xe1\x86\xa8") << "a syllable takes one tail";
}

TEST(Nfc, LeavesExclusionsApart) { EXPECT_EQ(nfc("\xe0\xa5\x98"), "\xe0\xa4\x95\xe0\xa4\xbc"); }  // U+0958

TEST(Nfc, LeavesWhatIsYoungerThanUnicode9) {
  EXPECT_EQ(nfc("\xf0\x91\xa4\xb5\xf0\x91\xa4\xb0"),
            "\xf0\x91\xa4\xb5\xf0\x91\xa4\xb0");             // U+11935 U+11930, a pair since 13.0
  EXPECT_EQ(nfc("q\xdf\xbd\xcc\xa3"), "q\xdf\xbd\xcc\xa3");  // U+07FD, a mark since 11.0
}

TEST(Nfc, LongRunsOfMarksAreQuick) {
  std::string marks = "q";
  for (int i = 0; i < 300000; ++i) marks += i % 2 == 0 ? "\xcc\x87" : "\xcc\xa3";
  const std::string out = nfc(marks);
  EXPECT_EQ(out.size(), marks.size());
  EXPECT_EQ(out.substr(1, 4), "\xcc\xa3\xcc\xa3");
}

}  // namespace
}  // namespace titan::recipe::nfc_test
